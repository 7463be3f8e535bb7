/// A receiver of pushed transactions, which reads them from the connection on its own actor.
protocol PushReceiver: AnyObject, Sendable {
    /// The position up to which the receiver has processed transactions; 0 before its first read.
    ///
    /// The value may be slightly out of date. It only determines which transactions the connection
    /// may drop.
    var merged: UInt64 { get }

    /// Schedules the receiver; called on any thread, often several times before it runs.
    func signal()
}
