"""`watch`: opens sources, page and publishers of `ropes watch`, and runs until the sources end."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ropes.common.hardware import RequestedPrecision
from ropes.common.rosbridge import is_address
from ropes.data.layout import is_dataset_folder, open_dataset
from ropes.data.recordings.devices import is_device
from ropes.data.recordings.views import Box
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.inference.live.device import Device
from ropes.inference.live.frames import Fit, RecordingEnded
from ropes.inference.live.kalman import Kalman
from ropes.inference.live.page import Page
from ropes.inference.live.publish import TOPIC, publisher
from ropes.inference.live.sources import RATE, Folders, Recorded, Source, VideoFile, cameras_of
from ropes.inference.live.truth import EncoderTruth, read_truth, topic_of
from ropes.inference.live.watch import Sink, Watch, limit_threads
from ropes.inference.poses import Arm, chosen_arm
from ropes.methods.run import Run

_NO_TRUTH = "--truth FILE.csv goes with video files, and --truth ws://HOST:PORT with cameras and folders; leave it out"
_NO_LOOP = "--loop goes with video files and data sets; leave it out"


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """How to watch.

    Attributes:
        cameras: NAME=SOURCE or SOURCE in the order of the run's cameras; or one data set, or one folder with a folder
            for each camera.
        rotate: camera → degrees clockwise; None is the key for all cameras.
        crop: camera → box in pixels after the rotation, or None for the whole image; None is the key for all cameras.
        page: serve the page.
        host: address that the page is bound to.
        port: of the page; the first free one from it on.
        publish: targets, see `ropes.inference.live.publish.publisher`.
        topic: of rosbridge.
        publish_flagged: publish JointState of poses out of distribution too.
        density: spectral density of the Kalman filter, rad²/s³; None for no filter.
        tolerance: largest difference of the cameras' time stamps in one pose, seconds.
        urdf: URDF file of the arm, where neither the data set nor the run's setting names it.
        split: of a data set; None for a test split.
        rate: poses a second of a data set; 10 if None.
        loop: play videos and data sets again.
        truth: CSV file with the true angles of videos, or address of a live arm's encoders; see
            `ropes.inference.live.truth`.
        seconds: end after so many seconds; None for no end.
        precision: see `ropes.methods.readers.load_reader`.
    """

    cameras: Sequence[str]
    rotate: Mapping[str | None, int]
    crop: Mapping[str | None, Box | None]
    page: bool = True
    host: str = "127.0.0.1"
    port: int = 8080
    publish: Sequence[str] = ()
    topic: str = TOPIC
    publish_flagged: bool = False
    density: float | None = None
    tolerance: float = 0.025
    urdf: Path | None = None
    split: str | None = None
    rate: float | None = None
    loop: bool = False
    truth: str | None = None
    seconds: float | None = None
    precision: RequestedPrecision = "auto"

    @property
    def has_encoders(self) -> bool:
        """Whether the true angles come from a live arm's encoders."""
        return self.truth is not None and is_address(self.truth)


def watch(run: Path, options: WatchOptions) -> None:
    """Estimate angles from live sources; show and publish them until a source ends or `options.seconds` have passed.

    Raises:
        UserError: see `ropes.inference.live.watch.Watch`, the sources, the page and the publishers.
    """
    _require_other_topic(options)
    estimator = Estimator.load(run, precision=options.precision)
    if estimator.calibration is None:
        raise UserError(f"{run} is not calibrated: run `ropes calibrate` first")
    sources = open_sources(estimator.run, options)
    raw = not any(isinstance(source, Recorded) for source in sources)
    fit = Fit(estimator.run, options.rotate, options.crop, raw=raw)
    kalman = None if options.density is None else Kalman(options.density)
    limit_threads(len(sources))
    arm = arm_to_draw(estimator.run, options, sources)
    with ExitStack() as stack:
        truth = None
        if options.has_encoders:
            encoders = EncoderTruth(estimator.run, str(options.truth))
            stack.callback(encoders.close)
            truth = encoders.at
        watched = Watch(estimator, sources, fit, tolerance=options.tolerance, kalman=kalman, truth=truth)
        sinks: list[Sink] = []
        for target in options.publish:
            sinks.append(publisher(target, arm, options.topic, flagged=options.publish_flagged))
            stack.callback(sinks[-1].close)
        if options.page:
            page = Page(estimator, arm, options.host, options.port)
            sinks.append(page)
            stack.callback(page.close)
            print(f"ropes: watch at {page.address}", file=sys.stderr)
        try:
            for estimate in watched.estimates(options.seconds):
                for sink in sinks:
                    sink.send(estimate)
        except RecordingEnded as end:
            print(f"ropes: {end}", file=sys.stderr)


def open_sources(run: Run, options: WatchOptions) -> list[Source]:
    """The sources of `options.cameras`.

    Raises:
        UserError: another number of sources than cameras, or a source does not exist.
    """
    texts = options.cameras
    if len(texts) == 1 and (whole := _of_all_cameras(run, Path(texts[0]), options)) is not None:
        if options.truth is not None and (isinstance(whole, Recorded) or not options.has_encoders):
            raise UserError(_NO_TRUTH)
        return [whole]
    _require_no_data_set(options)
    truth = None if options.truth is None or options.has_encoders else read_truth(run, Path(options.truth))
    by_camera = cameras_of(run, texts)
    folders = {camera: Path(text) for camera, text in by_camera.items() if Path(text).is_dir()}
    sources: list[Source] = [Folders(folders=folders)] if folders else []
    for camera, text in by_camera.items():
        if camera in folders:
            continue
        if is_device(text):
            sources.append(Device(camera=camera, address=text))
        else:
            sources.append(VideoFile(camera=camera, path=Path(text), loop=options.loop, truth=truth))
    videos = [source for source in sources if isinstance(source, VideoFile)]
    if options.truth is not None and options.has_encoders == bool(videos):
        raise UserError(_NO_TRUTH)
    if options.loop and not videos:
        raise UserError(_NO_LOOP)
    if options.loop:  # played again together, so that they stay at the same time
        shortest = min(video.duration for video in videos)
        for video in videos:
            video.duration = shortest
    return sources


def _require_other_topic(options: WatchOptions) -> None:
    """Check that the true angles are not the estimates that are published.

    Raises:
        UserError: they are, or --truth is no address.
    """
    published = f"/{options.topic.lstrip('/')}" if any(map(is_address, options.publish)) else None
    if options.has_encoders and topic_of(str(options.truth)).topic == published:
        raise UserError(f"--truth would read the estimates, which --publish sends on {published}; give another topic")


def _require_no_data_set(options: WatchOptions) -> None:
    """Check that no option is given that only a data set uses.

    Raises:
        UserError: there is one.
    """
    for name, value in (("split", options.split), ("rate", options.rate)):
        if value is not None:
            raise UserError(f"--{name} goes with a data set; leave it out")


def _of_all_cameras(run: Run, folder: Path, options: WatchOptions) -> Source | None:
    """The source of a data set, or of a folder with a folder for each camera; None for anything else.

    Raises:
        UserError: see `Recorded`; or the folder lacks that of a camera.
    """
    if is_dataset_folder(folder):
        dataset = open_dataset(folder)
        rate = RATE if options.rate is None else options.rate
        played = Recorded(run=run, dataset=dataset, split=options.split, rate=rate, loop=options.loop)
        if played.split == "train":
            warning = "playing training images; errors of a run that learned from them are too small"
            print(f"ropes: {warning}", file=sys.stderr)
        return played
    if not folder.is_dir():
        return None
    missing = [camera for camera in run.cameras if not (folder / camera).is_dir()]
    if missing and len(run.cameras) == 1:
        return None  # a folder of images
    if missing:
        raise UserError(f"{folder} is no data set, and has no folder {missing[0]} with the images of that camera")
    _require_no_data_set(options)
    if options.loop:
        raise UserError(_NO_LOOP)
    return Folders(folders={camera: folder / camera for camera in run.cameras})


def arm_to_draw(run: Run, options: WatchOptions, sources: Sequence[Source]) -> Arm | None:
    """The arm that the page and the overlays draw.

    Args:
        run: identity of the run.
        options: how to watch; `urdf` comes before all else.
        sources: sources of the images; a data set among them may name the robot.

    Returns:
        The arm; None where no option, data set or setting names it, with a line on standard error.

    Raises:
        UserError: `urdf` is given and is not the arm of the run, see `ropes.inference.poses.chosen_arm`.
    """
    dataset = next((source.dataset for source in sources if isinstance(source, Recorded)), None)
    try:
        return chosen_arm(run, options.urdf, dataset)
    except UserError as error:
        if options.urdf is not None:
            raise
        print(f"ropes: the arm is not drawn: {error}", file=sys.stderr)
        return None
