"""The two policies on each joint of a data set: their images, distributions and Bayes floors."""

from ropes.causal.scm import CausalModel, Regime
from ropes.data.dataset import Dataset
from ropes.errors import UserError


def require_both_policies(dataset: Dataset) -> None:
    """Check that every joint has images under both of its policies.

    Raises:
        UserError: no interventions at all, or a joint with only one.
    """
    if not dataset.joints:
        raise UserError(f"{dataset.path} has no interventions; fitting needs both policies on every joint")
    for joint in dataset.joints:
        for policy in (1, 2):
            if Regime(joint, policy) not in dataset.regimes:
                raise UserError(
                    f"{dataset.path}: joint {joint} has no images under policy {policy}; "
                    "fitting needs both of its interventions"
                )


def described_model(dataset: Dataset) -> CausalModel | None:
    """The causal model of the training split; None if the data set does not describe it.

    Raises:
        UserError: its description is no causal model.
    """
    described = (dataset.provenance or {}).get("setting", {}).get("splits", {}).get("train")
    if not described:
        return None
    try:
        return CausalModel.from_dict(described)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{dataset.path}: meta/ropes.json describes no causal model of the training split ({error}); "
            "correct it, or remove it"
        ) from error


def bayes_floors(dataset: Dataset) -> dict[str, float | None]:
    """The exact Bayes floor of each joint's contrast, nats; None if the data set does not describe its policies.

    Raises:
        UserError: see `described_model`.
    """
    model = described_model(dataset)
    return {
        joint: model.bayes_floor(joint) if model and joint in model.interventions else None for joint in dataset.joints
    }
