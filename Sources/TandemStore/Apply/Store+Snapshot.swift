extension Store {
    /// The graph at ``checkpointPosition``.
    ///
    /// Call it where no model was applied since the checkpoint. Throws ``StoreError``: `noReader` where
    /// ``StoreOptions/readers`` transactions are read in by all processes together; end one or wait. Cost: a microsecond.
    public func snapshot() throws(StoreError) -> StoreSnapshot {
        precondition(
            modelPosition <= checkpointPosition, "A model is committed before anything is read.")
        return try StoreSnapshot(environment, of: self, at: checkpointPosition)
    }
}
