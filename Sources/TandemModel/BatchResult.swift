/// What a batch came to: a batch delete, update or insert, which is several transactions.
public struct BatchResult: Hashable, Sendable {
    /// The batch's last transaction; the journal's end if it wrote none.
    public var position: Position
    /// How many objects were deleted, changed or inserted; what a delete rule took along does not count.
    public var count: Int

    /// A result of so many objects, up to a position.
    public init(position: Position, count: Int) {
        self.position = position
        self.count = count
    }
}
