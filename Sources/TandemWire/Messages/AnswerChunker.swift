import TandemModel
import TandemQuery

/// A chunker that splits the answer to a fetch into messages: one for a small answer, otherwise a
/// head and chunks.
///
///     var parts = AnswerChunker(answer)
///     while let message = parts.nextMessage() { send(message) }
///
/// State: `rest` is the answer, and `next` is the number of its objects already returned.
package struct AnswerChunker: Sendable {
    /// The approximate size of a chunk in bytes.
    ///
    /// The size is small enough that producing a chunk blocks neither side noticeably, and large
    /// enough that few socket operations are needed.
    package static let chunkBytes = 256 << 10
    private static let referenceBytes = 10

    private var rest: FetchAnswer?
    private var next = 0
    private var hasBegun = false
    private let chunkBytes: Int
    private let total: Int
    private let valueBytes: Int
    private let allBytes: Int

    /// Creates the chunker of an answer, with chunks of about `chunkBytes`.
    package init(_ answer: FetchAnswer, chunkBytes: Int = chunkBytes) {
        rest = answer
        self.chunkBytes = chunkBytes
        total = answer.bodyCount
        valueBytes = answer.values.reduce(0) { $0 + $1.heldBytes }
        allBytes = answer.heldBytes + valueBytes
    }

    /// The approximate memory held until the last message is returned, in bytes.
    package var bytes: Int { rest == nil ? 0 : allBytes }

    /// Whether all messages were returned.
    package var isDone: Bool { rest == nil }

    /// Returns the next message, or nil if there is none.
    package mutating func nextMessage() -> DaemonMessage? {
        guard let answer = rest else { return nil }
        if !hasBegun {
            hasBegun = true
            if end(of: answer) < total { return .fetched(answer.chunkedHead()) }
            rest = nil
            return .fetched(answer)
        }
        let end = end(of: answer)
        let part = answer.chunk(next..<end, hasMore: end < total)
        next = end
        if end == total { rest = nil }
        return .part(part)
    }

    /// Returns the index after the last object of the next chunk.
    private func end(of answer: FetchAnswer) -> Int {
        if !answer.objects.isEmpty {
            return answer.objects.endOfSlice(from: next, bytes: chunkBytes)
        }
        var bytes = Self.referenceBytes
        if let places = answer.places { bytes = places.bytes / max(1, places.count) }
        if !answer.values.isEmpty { bytes = valueBytes / answer.values.count }
        return min(total, next + max(1, chunkBytes / max(1, bytes)))
    }
}

extension FetchAnswer {
    /// The approximate size of everything but values, in bytes.
    fileprivate var heldBytes: Int {
        let reference = MemoryLayout<ObjectReference>.stride
        let known = (places?.reached.count ?? 0) + references.count
        return objects.byteCount + objects.count * MemoryLayout<Int>.stride + known * reference
            + related.reduce(0) { $0 + MemoryLayout<StoredObject>.stride + $1.row.bytes.count }
            + (places?.bytes ?? 0)
    }

    fileprivate func chunk(_ range: Range<Int>, hasMore: Bool) -> FetchedChunk {
        FetchedChunk(
            objects: objects.isEmpty ? [] : objects.slice(range),
            references: references.isEmpty ? [] : Array(references[range]),
            values: values.isEmpty ? [] : Array(values[range]),
            places: places.flatMap { $0.count == 0 ? nil : $0.slice(range) }, hasMore: hasMore)
    }
}

extension [PropertyValue] {
    /// The approximate memory of a row of values, in bytes.
    fileprivate var heldBytes: Int {
        reduce(32 + count * MemoryLayout<PropertyValue>.stride) { bytes, value in
            switch value {
            case .string(let text): bytes + text.utf8.count
            case .data(let data): bytes + data.count
            default: bytes
            }
        }
    }
}
