/// The result of a batch delete, update or insert, which may consist of several transactions.
public struct BatchResult: Hashable, Sendable {
    /// The position of the batch's last transaction, or the journal's tail if it wrote none.
    public var position: Position
    /// The number of deleted, changed or inserted objects, without objects affected by delete
    /// rules.
    public var count: Int

    /// Creates the result for `count` objects, up to a position.
    package init(position: Position, count: Int) {
        self.position = position
        self.count = count
    }
}
