"""The page: complete, self-contained, well-formed, the same every time, and honest about what is absent."""

import base64
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ropes.common import files
from ropes.errors import UserError
from ropes.evaluation import results
from ropes.evaluation.paper import CAUSAL, JOINTS, ONE_CAMERA, TWO_CAMERAS
from ropes.evaluation.results import Results
from ropes.report.html import write_report
from ropes.report.markdown import markdown
from ropes.report.stills import publish, write_figures
from tests.report.pages import Page, a_row, numbers_only


@pytest.fixture(scope="module")
def source(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("page") / "report.html"
    write_report(run_folder, out)
    assert [entry.name for entry in out.parent.iterdir()] == ["report.html"]
    return out.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(source: str) -> Page:
    return Page(source)


@pytest.mark.slow
def test_page_loads_no_external_resource(source: str, page: Page) -> None:
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert all(link.startswith(("data:image/png;base64,", "#")) for link in page.links)
    assert not re.search(r"url\((?!#)", source)
    assert "@import" not in source


def test_every_internal_link_has_a_target_and_ids_are_unique(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_every_section_is_present(page: Page) -> None:
    for heading in (
        "Comparison with the paper",
        "Occlusion and distribution shift",
        "One camera, independent joints",
        "Estimated against true angles",
        "Reconstructions",
        "Samples of each intervention",
        "Density ratios against their Bayes floors",
        "Effect of score differences on coordinates",
        "Training",
        "Settings of this run",
        "All numbers",
        "Provenance",
    ):
        assert heading in page.text
    assert "Not recorded" not in page.text
    assert "Images, their reconstructions by the first autoencoder (AE1)" in page.text
    assert (
        "With a line fitted on 1,000 labels, none of them in training: of 3 cells of the paper's Table 1" in page.text
    )


def test_page_numbers_match_the_results_file(run_folder: Path, page: Page) -> None:
    rows = [row for row in results.read(run_folder / "results.json").rows if row.joint == "panda_joint4"]
    plain = [row.mse_mean for row in rows if row.split == "id" and row.occlusion == 0]
    assert f"{np.mean(np.array(plain, float)):.3f} ±" in page.text
    assert "0.975" in page.text
    assert "0.029" in page.text
    assert "ae1.learning_rate 0.001" in page.text
    assert "ropes simulate --setting panda-2c-independent" in page.text


def test_plots_use_the_page_colours_and_have_labels(source: str) -> None:
    assert source.count('<svg role="img" aria-label="') == 5
    assert "currentColor" in source
    assert "prefers-color-scheme: dark" in source
    assert "#1b1f24" not in source.split("</style>")[1]


def test_pictures_contain_the_stored_pixels(run_folder: Path, page: Page) -> None:
    with np.load(run_folder / "artefacts" / ONE_CAMERA / "ropes" / "evaluation.npz") as arrays:
        wanted = arrays["occluded_original"][0, 0]
    strips = [
        np.asarray(Image.open(io.BytesIO(base64.b64decode(link.partition(",")[2]))))
        for link in page.links
        if link.startswith("data:")
    ]
    assert any(
        strip.shape[:1] == (64,) and strip.ndim == 3 and np.array_equal(strip[:, :64, 0], wanted) for strip in strips
    )


def test_intervention_images_are_shown_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (3, 2, 1, 16, 16), np.uint8)
    methods = ("ropes", "anchored", "ldr")
    for method, shown in zip(methods, (images, images, 255 - images), strict=True):
        arrays = {
            "joints": np.array(["panda_joint2"]),
            "cameras": np.array(["cam0"]),
            "intervention_images": shown,
            "intervention_names": np.array(["observational", "panda_joint2/1", "panda_joint2/2"]),
        }
        files.write_arrays(tmp_path / "artefacts" / ONE_CAMERA / method / "evaluation.npz", arrays)
    page = Page(numbers_only(tmp_path, *(a_row(method=method) for method in methods)))
    assert sum(link.startswith("data:image") for link in page.links) == 6
    assert page.text.count("The same images as under One camera, independent joints · ropes.") == 1


def test_each_missing_input_takes_one_line(tmp_path: Path) -> None:
    text = Page(numbers_only(tmp_path, a_row())).text
    assert f"Not recorded: artefacts/{ONE_CAMERA}/ropes/evaluation.npz is missing" in text
    assert f"Not recorded: artefacts/{ONE_CAMERA}/ropes/training.json is missing" in text
    assert "No reconstructions were recorded." in text
    assert "No intervention samples were recorded." in text
    assert "No matrix was recorded." in text
    assert "Occlusion and distribution shift" not in text


@pytest.mark.slow
@pytest.mark.parametrize(("last", "ended"), [(4000, False), (2500, True)])
def test_encoder_section_names_the_kept_weights(tmp_path: Path, last: int, ended: bool) -> None:
    folder = tmp_path / "artefacts" / ONE_CAMERA / "anchored"
    curves = {"steps": [500.0, 1500.0, float(last)], "held_out": [2.0, 1.5, 1.7], "regimes": [2.0, 1.6, 1.5]}
    summary = {"best_step": 1500, "planned_steps": 4000, "stages": {"encoder": curves, "ldr": {}}}
    files.write_json(folder / "training.json", summary)
    text = Page(numbers_only(tmp_path, a_row(method="anchored"))).text
    assert "The kept weights are those of step 1,500 of 4,000, with the smallest held-out loss." in text
    assert ("Early stopping ended the training at step 2,500" in text) == ended
    assert "econstruction" not in text
    assert "No matrix was recorded." not in text


def test_results_without_rows_are_reported(tmp_path: Path) -> None:
    text = Page(numbers_only(tmp_path)).text
    assert "No in-distribution results yet." in text
    assert "No in-distribution rows in results.json." in text


def test_methods_of_one_setup_are_side_by_side(tmp_path: Path) -> None:
    page = Page(numbers_only(tmp_path, a_row(), a_row(method="anchored", mse=(0.01, 0.001)), a_row(method="ldr")))
    for method in ("ropes", "anchored", "ldr"):
        assert f"setup-{ONE_CAMERA}-{method}" in page.ids
        assert f"One camera, independent joints · {method} joint" in page.text
    assert len(page.ids) == len(set(page.ids))


def test_errors_by_label_count_have_their_own_table(tmp_path: Path) -> None:
    rows = [
        a_row(joint=f"panda_joint{joint}", split=split, calibration_labels=count, mse=(0.001 * count + joint, 0.0))
        for split in ("id", "ood")
        for joint in (2, 4)
        for count in (1000, 0, 10, 100)
    ]
    text = Page(numbers_only(tmp_path, *rows)).text
    part = text.partition("from the commanded distributions of the policies.")[2]
    assert part.startswith(
        " One camera, independent joints · ropes, id joint 0 10 100 1,000 "
        "joint 2 81.0 ± 0.0 (2.000) 81.2 ± 0.0 (2.010) 83.0 ± 0.0 (2.100) 99.2 ± 0.0 (3.000) "
        "joint 4 114.6 ± 0.0 (4.000)"
    )
    assert "One camera, independent joints · ropes, ood" in part
    assert "fitted on 1,000 labelled poses" in text
    against = text.partition("Comparison with the paper Mean")[2].partition("Error by number of calibration labels")[0]
    assert "3.000" in against
    assert "2.010" not in against
    assert "16 conditions, 16 rows" in text
    assert "Error by number of calibration labels" not in Page(numbers_only(tmp_path, a_row())).text


def test_baseline_with_all_labels_has_a_column(tmp_path: Path) -> None:
    row = a_row(setup=TWO_CAMERAS, joint="panda_joint3", method="anchored", mse=(0.02, 0.0), mcc_matched=0.95)
    assert (
        "joint 3 8.1 0.900 ± 0.010 ✓ 0.950 0.634 0.020 ± 0.000 ✓ 0.217 0.007" in Page(numbers_only(tmp_path, row)).text
    )
    assert "all labels" not in Page(numbers_only(tmp_path, a_row())).text


def test_variances_stand_where_errors_do_not_compare(tmp_path: Path) -> None:
    rows = [a_row(setup=CAUSAL, joint=joint, method="anchored", mcc=(0.8, 0.0), mse=(0.018, 0.0)) for joint in JOINTS]
    text = Page(numbers_only(tmp_path, *rows)).text
    ours = " ".join(["0.050"] * 6)
    assert f"because the test angles have other variances: ours by joint {ours} rad²" in text
    assert "the paper's 0.382 0.299 0.280 0.401 0.113 0.163 rad²" in text
    assert "do not compare" not in Page(numbers_only(tmp_path, a_row())).text


def test_seeds_have_their_own_deviation(tmp_path: Path) -> None:
    rows = [a_row(seed=seed, mse=(mse, 0.003)) for seed, mse in ((0, 0.02), (1, 0.04))]
    assert "0.030 ± 0.003 ± 0.014" in Page(numbers_only(tmp_path, *rows)).text


def test_names_are_escaped_in_html(tmp_path: Path) -> None:
    source = numbers_only(tmp_path, a_row(setup="<script>x</script>", joint="<b>&"))
    assert "<script" not in source
    assert "&lt;script&gt;" in source
    assert "<b>" not in source


@pytest.mark.slow
def test_the_same_folder_gives_the_same_bytes(run_folder: Path, tmp_path: Path, source: str) -> None:
    write_report(run_folder, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == source


def test_folder_without_results_is_refused_without_writing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"results\.json is missing"):
        write_report(tmp_path, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_figures_for_other_pages_are_written(run_folder: Path, tmp_path: Path) -> None:
    written = write_figures(run_folder, tmp_path)
    assert [path.name for path in written] == [
        f"table1-compact-{ONE_CAMERA}-ropes-scatter.png",
        f"table1-compact-{ONE_CAMERA}-ropes-reconstructions.png",
    ]
    sizes = []
    for path in written:
        with Image.open(path) as picture:
            sizes.append(picture.size)
    assert sizes[0][0] > sizes[0][1] > 200
    assert sizes[1] == (6 * 64 + 5 * 4, 6 * 64 + 5 * 4)


@pytest.mark.slow
def test_results_and_figures_are_published_together(run_folder: Path, tmp_path: Path) -> None:
    table, *pictures = publish(run_folder, tmp_path)
    found = results.read(run_folder / "results.json")
    assert table == tmp_path / f"{found.name}-{found.preset}.json"
    assert results.read(table) == found
    assert [path.name for path in pictures] == [path.name for path in write_figures(run_folder, tmp_path / "again")]


def test_rows_of_other_methods_are_kept_on_request(tmp_path: Path) -> None:
    out = tmp_path / "results"
    for device, seconds, method, mse in (
        ("a", 10.0, "ropes", 0.05),
        ("b", 5.0, "anchored", 0.04),
        ("b", 7.0, "ldr", 0.03),
    ):
        rows = (a_row(method=method, mse=(mse, 0.0)),)
        content = Results(name="demo", preset="compact", device=device, version="1", seconds=seconds, rows=rows)
        results.write(tmp_path / "run" / "results.json", content)
        publish(tmp_path / "run", out, keep=True)
    found = results.read(out / "demo-compact.json")
    assert [(row.method, row.mse_mean) for row in found.rows] == [("ropes", 0.05), ("anchored", 0.04), ("ldr", 0.03)]
    assert (found.device, found.seconds) == ("a and b", 22.0)
    publish(tmp_path / "run", out, keep=True)
    assert results.read(out / "demo-compact.json") == found
    other = (a_row(setup="panda-2c-causal", method="ldr", mse=(0.02, 0.0)),)
    results.write(tmp_path / "run" / "results.json", replace(content, rows=other))
    publish(tmp_path / "run", out, keep=True)
    found = results.read(out / "demo-compact.json")
    assert [(row.method, row.mse_mean) for row in found.rows if row.setup != "panda-2c-causal"] == [
        ("ropes", 0.05), ("anchored", 0.04), ("ldr", 0.03)
    ]  # fmt: skip
    assert [row.mse_mean for row in found.rows if row.setup == "panda-2c-causal"] == [0.02]
    assert found.seconds == 29.0
    results.write(tmp_path / "run" / "results.json", replace(content, rows=(replace(other[0], mse_mean=0.01),)))
    publish(tmp_path / "run", out, keep=True)
    found = results.read(out / "demo-compact.json")
    assert found.seconds is None  # a fit replaced a committed one, whose own seconds are not known
    assert "minutes" not in markdown(found)
    write_report(out.parent / "run", tmp_path / "report.html")
    elsewhere = replace(results.read(tmp_path / "run" / "results.json"), scene="panda-gym")
    results.write(tmp_path / "run" / "results.json", elsewhere)
    with pytest.raises(UserError, match=r"has scene that of an older version and .* panda-gym; leave --keep out"):
        publish(tmp_path / "run", out, keep=True)
    publish(tmp_path / "run", out)
    assert results.read(out / "demo-compact.json").rows == elsewhere.rows


def test_rows_of_other_seeds_are_kept_on_request(tmp_path: Path) -> None:
    out = tmp_path / "results"
    errors = {0: 0.05, 1: 0.03}
    for seed, mse in errors.items():
        rows = (a_row(method="ropes", seed=seed, mse=(mse, 0.0)),)
        content = Results(name="demo", preset="compact", device="a", version="1", seconds=2.0, rows=rows)
        results.write(tmp_path / "run" / "results.json", content)
        publish(tmp_path / "run", out, keep_seeds=True)
    found = results.read(out / "demo-compact.json")
    assert {row.seed: row.mse_mean for row in found.rows} == errors
    assert found.seconds == 4.0
    publish(tmp_path / "run", out, keep=True)
    assert [row.seed for row in results.read(out / "demo-compact.json").rows] == [1]
