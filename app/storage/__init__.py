"""Files in containers, as LoopBack 3's loopback-component-storage serves them."""
