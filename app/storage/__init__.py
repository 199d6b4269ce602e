"""Files in containers, as in LoopBack 3's loopback-component-storage."""
