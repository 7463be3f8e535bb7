import TandemQuery

/// An answer that arrives in chunks: its head, and the objects that its chunks still have to bring.
///
/// A receiver either collects the chunks in ``answer``, or checks them one by one and passes them
/// on.
package struct ChunkedAnswer: Sendable {
    /// The head, with the objects of all chunks appended to it.
    package private(set) var answer: FetchAnswer
    /// The number of objects, references or rows that have not arrived yet.
    private var left: UInt64

    /// Begins an answer with its head.
    package init(_ head: FetchAnswer) {
        answer = head
        let first = UInt64(head.bodyCount)
        left = head.count > first ? head.count - first : 0
    }

    /// Counts the next chunk; returns false, without a change, if it does not belong to the answer.
    ///
    /// A chunk does not belong to the answer if it is empty, of mixed or different content, or
    /// refers to sections or objects that the head lacks. Nor does it belong if the total would
    /// exceed the count of the head, or fall short of it after the last chunk.
    package mutating func accept(_ chunk: FetchedChunk) -> Bool {
        let count = UInt64(chunk.count)
        guard count > 0, count <= left, chunk.hasMore == (count < left) else { return false }
        if let places = answer.places {
            guard let more = chunk.places, more.count == chunk.count, places.accepts(more) else {
                return false
            }
        } else {
            let counts = [chunk.objects.count, chunk.references.count, chunk.values.count]
            guard counts.contains(chunk.count) else { return false }
        }
        left -= count
        return true
    }

    /// Appends the next chunk to ``answer``; returns false if it does not belong to the answer, or
    /// if the sort keys of a list would exceed 4 GiB.
    package mutating func append(_ chunk: FetchedChunk) -> Bool {
        guard accept(chunk) else { return false }
        if let more = chunk.places {
            guard answer.places?.append(more) ?? false else { return false }
        }
        answer.objects.append(chunk.objects)
        answer.references += chunk.references
        answer.values += chunk.values
        answer.hasMore = chunk.hasMore
        return true
    }
}
