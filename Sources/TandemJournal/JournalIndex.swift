import Synchronization
import TandemIO

/// Where batches begin, sparsely: about one mark per 64 KiB of each segment.
///
/// Shared by a journal and the readers over it, on any thread; filled by whoever passes first. Only
/// a cache: where it knows nothing a reader finds its place by bisection, a few reads in a segment.
/// Holds the marks of the last ``maximumSegments`` segments, so at most 16 KiB for each.
public final class JournalIndex: Sendable {
    /// A batch in a segment.
    struct Mark: Hashable {
        var position: UInt64
        var offset: UInt64
    }

    /// A position is found in this many bytes of reading or less.
    static let spacingBytes: UInt64 = 65_536
    /// Segments of which marks are kept; the oldest are forgotten first.
    static let maximumSegments = 64

    private let marks = Locked<[UInt64: [Mark]]>([:])

    /// Makes an empty index.
    public init() {}

    /// Remembers a batch if the last one remembered is far enough behind.
    func note(segment: UInt64, position: UInt64, offset: UInt64) {
        marks.withLock { marks in
            if let last = marks[segment]?.last, offset < last.offset + Self.spacingBytes { return }
            marks[segment, default: []].append(Mark(position: position, offset: offset))
            guard marks.count > Self.maximumSegments, let oldest = marks.keys.min() else { return }
            marks[oldest] = nil
        }
    }

    /// The last remembered batch that begins at or below a position, and where the next one is.
    func around(segment: UInt64, position: UInt64) -> (mark: Mark?, next: UInt64?) {
        marks.withLock { marks in
            guard let list = marks[segment] else { return (nil, nil) }
            var low = 0
            var high = list.count
            while low < high {
                let middle = (low + high) / 2
                if list[middle].position <= position { low = middle + 1 } else { high = middle }
            }
            return (
                low == 0 ? nil : list[low - 1], low == list.count ? nil : list[low].offset
            )
        }
    }

    /// How many marks it holds.
    var count: Int { marks.withLock { $0.values.reduce(0) { $0 + $1.count } } }

    /// Forgets a segment.
    func drop(segment: UInt64) {
        marks.withLock { $0[segment] = nil }
    }
}

/// The last position that may be shown to others; moved by the writer, read on any thread.
public final class CommittedTail: Sendable {
    private let position: Atomic<UInt64>

    init(_ position: UInt64) { self.position = Atomic(position) }

    /// The last position that is durable.
    public var last: UInt64 { position.load(ordering: .acquiring) }

    func move(to last: UInt64) { position.store(last, ordering: .releasing) }
}
