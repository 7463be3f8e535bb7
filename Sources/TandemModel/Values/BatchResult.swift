/// The result of a batch delete, update or insert, which may be several transactions.
public struct BatchResult: Hashable, Sendable {
    /// The position of the batch's last transaction, or the journal's tail if it wrote none.
    public var position: Position
    /// The number of objects deleted, changed or inserted, without those that a delete rule
    /// affected.
    public var count: Int

    /// Creates the result for `count` objects, up to a position.
    package init(position: Position, count: Int) {
        self.position = position
        self.count = count
    }
}
