"""A setting of another package: two joints of a KUKA iiwa before one camera.

pip install examples/plugin
ropes simulate --setting kuka-two-joints --anchors 500 --out data/kuka
"""

from ropes.causal.scm import CausalModel, TruncatedNormal
from ropes.simulation.settings import Camera, Robot, Setting

_JOINTS = ("lbr_iiwa_joint_2", "lbr_iiwa_joint_4")


def _normal(mean: float, variance: float) -> TruncatedNormal:
    return TruncatedNormal(mean=mean, variance=variance, low=-1.5, high=1.5)


_MODEL = CausalModel(
    joints=_JOINTS,
    observational=dict.fromkeys(_JOINTS, _normal(0.0, 1.0)),
    interventions=dict.fromkeys(_JOINTS, (_normal(-0.75, 0.5), _normal(0.75, 0.5))),
)
SETTING = Setting(
    name="kuka-two-joints",
    robot=Robot(urdf="kuka_iiwa/model.urdf", joints=_JOINTS),
    cameras=(Camera(name="side", target=(0.0, 0.0, 0.6), distance=2.2, yaw=0.0, pitch=0.0, roll=0.0, fov=60.0),),
    splits={"train": _MODEL, "test-id": _MODEL},
)
