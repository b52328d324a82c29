"""Checks that a data set shows the test poses of a task."""

import numpy as np

from ropes.data.dataset import Dataset
from ropes.data.origin import renderer_of
from ropes.errors import UserError
from ropes.evaluation.benchmark.task import IMAGE_SIZE, MESH, RENDERER, SCENE, SEED, TEST_POSES, Task
from ropes.simulation.settings import setting_named

#: Data sets store angles with 32 bits.
_ROUNDING = 1e-5


def require_test_poses(dataset: Dataset, task: Task) -> None:
    """Check that a data set has the scene, the renderer, the cameras, the image size and the test poses of a task.

    Pixels are not compared: renderers draw slightly different ones in other versions.  Angles are the same everywhere.

    Raises:
        UserError: it has others.
    """
    provenance = dataset.provenance or {}
    setting = provenance.get("setting", {})
    scene, size = setting.get("scene", "white"), (IMAGE_SIZE, IMAGE_SIZE)
    faults = [f"scene {scene}, not {SCENE}"] if scene != SCENE else []
    faults += [f"setting {setting.get('name')}, not {task.name}"] if setting.get("name") != task.name else []
    faults += [f"images of {dataset.image_shape}, not {size}"] if dataset.image_shape != size else []
    if (renderer := renderer_of(dataset)) != RENDERER:
        faults.append(f"images drawn by {renderer}, not {RENDERER}")
    if (mesh := provenance.get("mesh", MESH)) != MESH:
        faults.append(f"{mesh} meshes, not {MESH} ones")
    if setting.get("camera_level", "clean") != "clean":
        faults.append(f"camera faults of level {setting['camera_level']}")
    if not faults and setting.get("cameras") != [camera.to_dict() for camera in setting_named(task.name).cameras]:
        faults.append(f"other cameras than {task.name}")
    for split in () if faults else task.splits:
        angles = dataset.states(split)
        if angles.shape != (TEST_POSES, len(task.joints)):
            faults.append(f"{len(angles)} poses of {split}, not {TEST_POSES}")
        elif np.abs(angles - task.angles(split)).max() > _ROUNDING:
            faults.append(f"other poses of {split}")
    if faults:
        raise UserError(
            f"{dataset.path} has {faults[0]}; make it with `ropes simulate --setting {task.name} --scene {SCENE} "
            f"--renderer {RENDERER} --test-anchors {TEST_POSES} --seed {SEED}`"
        )
