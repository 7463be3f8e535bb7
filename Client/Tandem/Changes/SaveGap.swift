public import TandemModel

/// Saves that were skipped by a restart of the context, because their history expired or a new
/// epoch began.
public struct SaveGap: Hashable, Sendable {
    /// The last position whose save was reported.
    public var after: Position
    /// The position after which saves are reported again.
    ///
    /// Its epoch differs from the epoch of ``after`` if the log was restored.
    public var through: Position

    /// Returns the part of the gap after the last reported position, or nil if that part is empty.
    ///
    /// The position belongs to the log of ``through``.
    func left(after position: UInt64) -> SaveGap? {
        guard after.isComparable(with: through) else { return self }
        guard position < through.number else { return nil }
        return SaveGap(after: after.at(max(after.number, position)), through: through)
    }
}
