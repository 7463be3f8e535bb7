/// A position in the journal that is also valid outside the daemon: log, epoch and transaction
/// number.
///
/// A save returns a position, and `reach(_:)` waits for one. Positions can be printed, parsed and
/// passed between processes. A position of another log or epoch is never mistaken for one of this
/// log and epoch.
///
///     let position = try context.save()
///     let argument = position.description          // 18@1-5f0c…
///     try await other.reach(Position(argument)!)
public struct Position: Hashable, Sendable, Comparable, LosslessStringConvertible {
    /// The log's random id.
    @usableFromInline package var log: LogID
    /// The epoch, which increases when transactions that clients have seen may have been lost.
    ///
    /// Transactions can be lost in a restore or a recovery.
    @usableFromInline package var epoch: UInt32
    /// The number of the last transaction included; 0 means before the first.
    public var number: UInt64

    /// Creates the position after transaction `number` of the given log and epoch.
    @usableFromInline package init(log: LogID, epoch: UInt32, number: UInt64) {
        self.log = log
        self.epoch = epoch
        self.number = number
    }

    /// Parses `NUMBER@EPOCH-LOG`.
    public init?(_ description: String) {
        let parts = description.split(
            separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let number = UInt64(parts[0]) else { return nil }
        let rest = parts[1].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard rest.count == 2, let epoch = UInt32(rest[0]), let log = LogID(String(rest[1])) else {
            return nil
        }
        self.init(log: log, epoch: epoch, number: number)
    }

    /// The printed form, `NUMBER@EPOCH-LOG`.
    public var description: String { "\(number)@\(epoch)-\(log)" }

    /// Returns whether both positions have the same log and epoch, so that their numbers can be
    /// compared.
    public func isComparable(with other: Position) -> Bool {
        log == other.log && epoch == other.epoch
    }

    /// Returns the position with another number in the same log and epoch; 0 is the beginning.
    ///
    ///     container.changes(of: Item.self, after: try container.end().at(0))
    public func at(_ number: UInt64) -> Position {
        Position(log: log, epoch: epoch, number: number)
    }

    /// Compares by epoch, then number; only meaningful within one log.
    public static func < (a: Position, b: Position) -> Bool {
        (a.epoch, a.number) < (b.epoch, b.number)
    }
}
