"""Records data sets: drives an arm through the poses of a plan and takes a frame of each camera in each pose."""
