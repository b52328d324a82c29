"""`ropes cameras`: find where the cameras of a data set stand, from its images of the arm at known angles."""

from dataclasses import dataclass
from pathlib import Path

from ropes.cli.config import options_beside, write_options
from ropes.cli.options import DataFolder, at_least, distinct


@dataclass(frozen=True, kw_only=True)
class Cameras:
    """Find each camera's pose in the arm's frame from images of the arm: hand-eye calibration without a marker.

    Fits the arm's silhouettes at known joint angles to what moves in the images. Prints how well they agree on poses
    that were held out, and refuses cameras that do not fit. The file is for --camera-file of ropes predict and ropes
    check.

    Example:
      ropes cameras data/my-arm --urdf arm.urdf --out cameras.json --preview cameras.png
      ropes cameras data/my-arm --urdf arm.urdf --run runs/arm --out cameras.json
    """

    data: DataFolder
    """Data set with images of the arm in many poses."""
    out: Path
    """JSON file for the cameras' intrinsics and extrinsics."""
    urdf: Path | None = None
    """URDF file of the arm: a path, or a file of pybullet_data; that of the data set if omitted."""
    run: str | None = None
    """Folder of a calibrated run, or a packaged estimator's name, whose estimated angles are used; the logged angles of
    the data set if omitted."""
    cameras: tuple[str, ...] = ()
    """Names of the cameras to find; all if omitted."""
    preview: Path | None = None
    """PNG file with the arm's outline over held-out images; it is written even if a camera does not fit."""
    seed: int = 0
    """Seed of the points on the arm's surface."""

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed)
        distinct(cameras=self.cameras)

    def execute(self) -> None:
        """Find the cameras, print how well they fit, and write the files."""
        from ropes.common import files
        from ropes.data.layout import open_dataset
        from ropes.errors import UserError
        from ropes.inference.estimator import Estimator
        from ropes.inference.hand_eye.find import find_cameras
        from ropes.inference.hand_eye.poses import read_posed_images
        from ropes.inference.hand_eye.preview import preview
        from ropes.models.registry import find_run
        from ropes.report.hand_eye import print_cameras
        from ropes.report.pictures import png

        for file in (self.out, self.preview):
            if file is not None:
                files.require_file(file)
        dataset = open_dataset(self.data)
        estimator = None if self.run is None else Estimator.load(find_run(self.run))
        posed = read_posed_images(dataset, urdf=self.urdf, estimator=estimator, cameras=self.cameras)
        found = find_cameras(dataset, posed, seed=self.seed)
        print_cameras(found)
        where = ""
        if self.preview is not None:
            with files.atomic_path(self.preview) as temporary:
                temporary.write_bytes(png(preview(posed, found)))
            where = f"; see {self.preview}"
        if wrong := [each for each in found if each.quality.fault is not None]:
            faults = "; ".join(f"camera {each.camera.name} does not fit ({each.quality.fault})" for each in wrong)
            hint = "check the URDF, names and units of the angles, and that the camera stood still"
            raise UserError(f"{faults}: {hint}{where}; {self.out} was not written")
        files.write_json(self.out, {"cameras": [each.to_record() for each in found]})
        write_options(self, options_beside(self.out))
        print(f"wrote {self.out}")
