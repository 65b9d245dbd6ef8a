"""Programs that tell what compiling costs, and calling what is compiled."""
