import TandemModel
public import TandemQuery
import TandemWire

/// The plan that the daemon used for a fetch, and the amount of data read.
public struct FetchExplanation: Sendable {
    /// The position at which the daemon read.
    public let position: UInt64
    /// The plan, as a tree in preorder: the substeps of a step follow it, one level deeper.
    public let steps: [FetchPlanStep]
    /// The number of rows read to find the answer.
    public let rowsRead: Int
    /// The number of index keys and link keys that were read.
    public let keysRead: Int
    /// The number of objects that the fetch returns; for a count, the count.
    public let returned: Int
    /// The kind of answer that was requested.
    public let output: FetchOutput
    /// Whether the daemon's thread answered as soon as the request arrived.
    ///
    /// All other reads wait for a checkpoint, and are carried out on a snapshot by a reader. If the
    /// disk is full, the daemon's thread carries out the queued reads as well.
    public let isAnsweredAtOnce: Bool
}
