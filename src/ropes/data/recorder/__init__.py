"""Records data sets: drives an arm through the protocol and takes a frame of each camera in each pose."""
