"""Groups of approvers, by which policies and assignments name several people at once."""
