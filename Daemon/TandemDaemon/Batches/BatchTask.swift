import TandemIO
import TandemModel
import TandemWire

/// A running batch of any kind: one that searches for objects, or a chunk of rows to insert.
protocol BatchTask: AnyObject {
    /// The session that requested the batch.
    var session: Session { get }
    /// The id of the request, which is answered at the end.
    var id: UInt32 { get }
    /// Whether the batch is waiting for the search for its objects.
    var isSearching: Bool { get }
    /// Whether only the answer remains to be sent.
    var isOver: Bool { get }

    /// Plans the next transaction, if there is one, and adds it to the batch of saves being built.
    ///
    /// If `isAlone` is true, the batch contains no save, and several transactions may be planned
    /// while time permits.
    func advance(
        _ committer: Committer, _ clock: any Clock, atMost most: Int, isAlone: Bool) throws
    /// Marks the planned transaction as durable; fails with `checkpointError`, if given and the
    /// outcome would be recorded only by that checkpoint.
    func didCommit(unless checkpointError: TandemError?)
    /// Ends the batch with an error; the planned transaction had no effect.
    func fail(_ error: TandemError)
    /// Returns the answer once the batch has ended, or nil before.
    func answer(at last: UInt64) -> DaemonMessage?
}
