extension Store {
    /// Returns a snapshot of the graph at ``checkpointPosition``.
    ///
    /// No model may have been applied since that checkpoint. Throws ``StoreError``: `noReader` if
    /// all processes together have ``StoreOptions/readers`` read transactions open; in that case
    /// end one, or wait. Cost: a microsecond.
    public func snapshot() throws(StoreError) -> StoreSnapshot {
        precondition(
            modelPosition <= checkpointPosition, "A model is committed before anything is read.")
        return try StoreSnapshot(environment, of: self, at: checkpointPosition)
    }
}
