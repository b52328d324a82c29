"""From joint angles to images: any URDF arm, filmed by named cameras."""
