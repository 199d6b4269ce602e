"""What LoopBack 3 sends to change streams, recorded."""
