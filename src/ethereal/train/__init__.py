"""`EtherealClassifier`: automata, epochs, the choice of the epoch, checkpoints."""
