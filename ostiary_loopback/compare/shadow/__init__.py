"""The shadow proxy: the old service answers, and the new one is compared in the background."""
