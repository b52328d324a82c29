"""Names, order and findings of the disentanglement study."""

from collections.abc import Sequence

import numpy as np

from ropes.common.arrays import Floats
from ropes.evaluation.rows.kinds import ModelRow
from ropes.methods.registry import method_of
from ropes.metrics.transfer import RankCorrelation, rank_correlation, rank_correlations
from ropes.report.words import capitalised, counted, error, fixed, joint_label
from ropes.simulation.settings import MPI3D_FACTORS

#: Metrics from 0 to 1; some may fall below 0.
METRICS = {
    "dci": "DCI",
    "completeness": "completeness",
    "informativeness": "R² (informativeness)",
    "mig": "MIG",
    "sap": "SAP",
    "modularity": "modularity",
    "explicitness": "explicitness",
    "beta_vae": "BetaVAE",
    "factor_vae": "FactorVAE",
    "mcc": "MCC, matched",
    "infom": "InfoM",
    "infoc": "InfoC",
    "infoe": "InfoE",
    "es_explicitness": "explicitness (DCI-ES)",
}
#: Metrics on other scales.
COUNTS = {"tmex": "T-MEX, violations", "es_size": "size (DCI-ES)"}
LABEL_FREE = {"elbo": "ELBO", "reconstruction": "reconstruction loss"}
#: The two regressors of the paper's figures; below, all of them.
REGRESSORS = {"trees": "boosted trees", "mlp": "MLP"}
ALL_REGRESSORS = {
    "trees": "boosted trees",
    "forest": "random forest",
    "mlp1": "MLP, one layer",
    "mlp": "MLP, two layers",
    "mlp3": "MLP, three layers",
}
CLASSIFIER = "error of a boosted-tree classifier"
SCENARIOS = {
    "id": "in distribution",
    "ood1_a": "OOD1-A",
    "ood1_b": "OOD1-B",
    "ood1_c": "OOD1-C",
    "ood2_a": "OOD2-A",
    "ood2_b": "OOD2-B (stand-in)",
    "ood2_b_real": "OOD2-B (photographs)",
}
OOD1 = ("ood1_a", "ood1_b", "ood1_c")
SUPERVISION = {
    "beta-vae": "unsupervised",
    "ada-gvae": "weakly supervised",
    "ldr": "interventions",
    "anchored": "interventions on anchors",
    "ropes": "interventions, three stages",
}
FACTORS = {
    "upper_joint": "upper joint",
    "middle_joint": "middle joint",
    "lower_joint": "lower joint",
    "cube_x": "cube x",
    "cube_y": "cube y",
    "cube_rotation": "cube rotation",
    "cube_hue": "cube hue",
}


def column(rows: Sequence[ModelRow], score: str) -> Floats:
    """A score or a setting of each model, (n,); NaN where it is undefined.

    REGRESSOR_ood1 is the transfer error over the three scenarios within the encoder's distribution.
    """
    if score.endswith("_ood1"):
        errors: Floats = np.mean([column(rows, f"{score.removesuffix('ood1')}{each}") for each in OOD1], axis=0)
        return errors
    values = [row.scores.get(score, row.settings.get(score)) for row in rows]
    return np.array([np.nan if value is None else value for value in values])


def score_text(score: str, value: float | None) -> str:
    """A formatted score: errors of regressors as errors, numbers from 100 on (of an ELBO) with one decimal."""
    if score.partition("_")[0] in ALL_REGRESSORS:
        return error(value)
    return f"{value:,.1f}" if value is not None and abs(value) >= 100 else fixed(value)


def by_supervision(rows: Sequence[ModelRow]) -> dict[str, list[ModelRow]]:
    """Supervision in words → its models; supervisions without models are left out."""
    groups = {words: [row for row in rows if method_of(row.method) == method] for method, words in SUPERVISION.items()}
    return {words: group for words, group in groups.items() if group}


def images_differ(rows: Sequence[ModelRow]) -> bool:
    """Whether models were trained on different numbers of images, as in the comparison of supervisions."""
    return len({row.settings.get("images") for row in rows}) > 1


def transfers(rows: Sequence[ModelRow]) -> bool:
    """Whether every model has the transfer errors of finger and cube."""
    return all("trees_ood1_a" in row.scores for row in rows)


def ood2(rows: Sequence[ModelRow]) -> tuple[str, ...]:
    """Scenarios out of the encoder's distribution; photographs only if every model was tested on them."""
    photographs = all("trees_ood2_b_real" in row.scores for row in rows)
    return ("ood2_a", "ood2_b", *(("ood2_b_real",) if photographs else ()))


def supervision_scores(rows: Sequence[ModelRow]) -> dict[str, str]:
    """Scores of the comparison of supervisions that every model has, with their names."""
    scores = {score: METRICS[score] for score in ("dci", "mig", "mcc", "informativeness")}
    scores |= {"trees_id": "error of trees", "trees_ood": "error of trees, shifted poses"}
    return {score: name for score, name in scores.items() if all(score in row.scores for row in rows)}


def factor_names(rows: Sequence[ModelRow]) -> dict[str, str]:
    """Factors of the models, in the order of the scene or by name, with their names."""
    measured = {factor for row in rows for factor in row.informativeness}
    of_scene = {factor: name for factor, name in FACTORS.items() if factor in measured}
    return of_scene | {factor: joint_label(factor) for factor in sorted(measured - of_scene.keys())}


def correlations(rows: Sequence[ModelRow], scores: Sequence[str], others: Sequence[str]) -> Floats:
    """Spearman's rank correlation over models of each score with each other one, (scores, others)."""
    values = np.stack([column(rows, score) for score in (*scores, *others)], axis=1)
    return rank_correlations(values)[: len(scores), len(scores) :]


def ood1_correlations(rows: Sequence[ModelRow]) -> dict[str, dict[str, RankCorrelation]]:
    """Supervision → regressor → rank correlation over its models of DCI with the mean error of OOD1 (after Fig. 4)."""
    return {
        words: {
            name: rank_correlation(column(group, "dci"), column(group, f"{name}_ood1"))
            for name in ALL_REGRESSORS
            if all(f"{name}_ood1_a" in row.scores for row in group)
        }
        for words, group in by_supervision(rows).items()
    }


def sizes_text(rows: Sequence[ModelRow]) -> str:
    """Numbers of images behind metrics and errors, as a sentence; empty unless all models have the same."""
    recorded = [dict(sizes) for sizes in {tuple(sorted(row.sizes.items())) for row in rows}]
    if len(recorded) != 1 or not recorded[0]:
        return ""
    (sizes,) = recorded
    tested = sizes.pop("tested")
    trained = sorted(set(sizes.values()))
    from_images = f"{trained[0]:,.0f}" if len(trained) == 1 else f"{trained[0]:,.0f} to {trained[-1]:,.0f}"
    hues = " of their scenario's hues" if transfers(rows) else ""
    grid = all(row.setup == MPI3D_FACTORS for row in rows)
    bins = "take every value of a factor for a class" if grid else "use 20 bins"
    return (
        f"Metrics use {tested:,.0f} test images, three quarters of them to train DCI's trees; MIG and modularity "
        f"{bins}. Regressors are trained on {from_images} images{hues}."
    )


def findings(rows: Sequence[ModelRow]) -> list[str]:
    """Sentences on disentanglement, on transfer in and out of distribution, and on input noise."""
    sentences = []
    for words, group in by_supervision(rows).items():
        dci, mig, informativeness = (_range(column(group, score)) for score in ("dci", "mig", "informativeness"))
        models = counted(len(group), "model")
        sentences.append(f"{capitalised(words)}, {models}: DCI {dci}, MIG {mig}, informativeness {informativeness}.")
    if not transfers(rows):
        return sentences
    for words, correlated in ood1_correlations(rows).items():
        # Three models or fewer are in order by chance: there is no interval.
        finite = {name: one for name, one in correlated.items() if np.isfinite(one.value) and one.pairs > 3}
        if finite:
            each = ", ".join(
                f"{ALL_REGRESSORS[name]} {fixed(one.value, 2)}{_interval(one)}" for name, one in finite.items()
            )
            count = next(iter(finite.values())).pairs
            sentences.append(
                f"Rank correlation of DCI with the mean error of OOD1 (95% interval), {words}, {count} models: {each}."
            )
    for words, group in by_supervision(rows).items():
        noise = column(group, "noise") > 0
        if noise.all() or not noise.any():
            continue
        for scenario in ("ood1_a", *ood2(rows)):
            medians = []
            for regressor, name in REGRESSORS.items():
                errors = column(group, f"{regressor}_{scenario}")
                medians.append(f"{name} {_median_error(errors[noise])} ({_median_error(errors[~noise])})")
            text = "median error with input noise (without)"
            sentences.append(f"{capitalised(words)}, {SCENARIOS[scenario]}, {text}: {', '.join(medians)}.")
    return sentences


def selected(rows: Sequence[ModelRow]) -> list[str]:
    """Sentences on the models chosen without labels: by the best ELBO, and by the least reconstruction loss."""
    sentences = []
    for words, group in by_supervision(rows).items():
        quality, errors = column(group, "dci"), column(group, "trees_ood1")
        if len(group) < 2 or not np.isfinite([*quality, *errors]).all():
            continue
        for score, name, sign in (
            ("elbo", "the best ELBO", 1),
            ("reconstruction", "the least reconstruction loss", -1),
        ):
            chosen = int((sign * column(group, score)).argmax())
            sentences.append(
                f"{capitalised(words)}, the model of {name}: DCI {fixed(quality[chosen])} (best "
                f"{fixed(quality.max())}, median {fixed(float(np.median(quality)))}), OOD1 error of boosted trees "
                f"{error(errors[chosen])} (best {error(errors.min())}, median {_median_error(errors)})."
            )
    return sentences


def against_paper(rows: Sequence[ModelRow]) -> list[str]:
    """A sentence on the weakly supervised models beside the paper's (Section 3)."""
    quality = column(by_supervision(rows).get("weakly supervised", []), "dci")
    if not len(quality) or not np.isfinite(quality).all():
        return []
    return [
        f"Of the weakly supervised models {(quality >= 0.99).mean():.0%} reach a DCI of .99, and the maximum is "
        f"{fixed(quality.max(), 4)}; of the paper's 540 models 29% do, and the maximum is .9989."
    ]


def _interval(found: RankCorrelation) -> str:
    return "" if np.isnan(found.low) else f" ({fixed(found.low, 2)} to {fixed(found.high, 2)})"


def _range(values: Floats) -> str:
    """Minimum, maximum and median of the finite values."""
    kept = values[np.isfinite(values)]
    if not len(kept):
        return "undefined"
    if len(kept) == 1:
        return fixed(kept[0], 2)
    return f"{fixed(kept.min(), 2)} to {fixed(kept.max(), 2)} (median {fixed(float(np.median(kept)), 2)})"


def _median_error(errors: Floats) -> str:
    return error(float(np.median(errors)))
