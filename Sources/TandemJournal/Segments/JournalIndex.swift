import Algorithms
import Synchronization
import TandemIO

/// A sparse cache of the offsets of batches: about one mark per 64 KiB of each segment.
///
/// Shared by a journal and its readers on any thread; the first reader to pass a batch adds its
/// mark. Without a mark, a reader locates a position by bisection, with a few reads in a segment.
/// The cache holds the marks of the last ``maximumSegments`` segments, at most 16 KiB for each.
public final class JournalIndex: Sendable {
    /// The position and offset of a batch in a segment.
    struct Mark: Hashable {
        var position: UInt64
        var offset: UInt64
    }

    /// The distance between marks, which limits the bytes read to find a position.
    static let spacingBytes: UInt64 = 65_536
    /// The number of segments whose marks are kept; the oldest are dropped first.
    static let maximumSegments = 64

    private let marks = Locked<[UInt64: [Mark]]>([:])

    /// Creates an empty cache.
    public init() {}

    /// Adds a mark for a batch, unless the last mark is less than ``spacingBytes`` before it.
    func addMark(segment: UInt64, position: UInt64, offset: UInt64) {
        marks.withLock { marks in
            if let last = marks[segment]?.last, offset < last.offset + Self.spacingBytes { return }
            marks[segment, default: []].append(Mark(position: position, offset: offset))
            guard marks.count > Self.maximumSegments, let oldest = marks.keys.min() else { return }
            marks[oldest] = nil
            assert(marks.count <= Self.maximumSegments, "The number of segments is limited.")
        }
    }

    /// Returns the last mark at or below a position, and the offset of the next mark.
    func around(segment: UInt64, position: UInt64) -> (mark: Mark?, next: UInt64?) {
        marks.withLock { marks in
            guard let list = marks[segment] else { return (nil, nil) }
            let next = list.partitioningIndex { $0.position > position }
            return (
                next == 0 ? nil : list[next - 1], next == list.count ? nil : list[next].offset
            )
        }
    }

    /// The number of marks.
    var count: Int { marks.withLock { $0.values.reduce(0) { $0 + $1.count } } }

    /// Removes the marks of a segment.
    func drop(segment: UInt64) {
        marks.withLock { $0[segment] = nil }
    }
}

/// The last position that readers may return; moved by the writer, read on any thread.
public final class CommittedTail: Sendable {
    private let position: Atomic<UInt64>

    init(_ position: UInt64) { self.position = Atomic(position) }

    /// The last durable position.
    public var last: UInt64 { position.load(ordering: .acquiring) }

    func move(to last: UInt64) {
        assert(last > self.last, "The tail only moves forward.")
        position.store(last, ordering: .releasing)
    }
}
