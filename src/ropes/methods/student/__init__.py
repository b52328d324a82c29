"""A second training, on images with foreign objects, by distillation of a trained method."""
