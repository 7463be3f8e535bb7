/// The serial executor that runs the calling code.
package enum CurrentExecutor {
    /// Returns whether `executor` is the current one, or nil if the runtime can't tell.
    ///
    /// Unlike `preconditionIsolated`, this never traps. It does not call `checkIsolated`, the only
    /// check that some executors implement. Cost: about 0.1 microseconds.
    package static func isCurrent(_ executor: UnownedSerialExecutor) -> Bool? {
        // An executor is two words: its identity and its witness table.
        let (identity, table) = unsafeBitCast(executor, to: (UInt, UInt).self)
        return Linux.isCurrentExecutor.map { $0(identity, table, 0) }
    }
}
