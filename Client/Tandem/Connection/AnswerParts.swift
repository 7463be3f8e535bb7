import TandemIO
import TandemModel
import TandemWire

/// The parts of an answer as they come, for who works on the first while the rest is made.
///
/// Who asks brings one along; it is told of the answer's head as of any answer, and takes the parts from here. Whoever reads the socket puts
/// them in. One that nobody holds any more takes none, and an answer that comes whole leaves it as it was.
final class AnswerParts: Sendable {
    private struct Guarded {
        /// What came and was not taken.
        var parts: [StoredObjects] = []
        /// How many objects are to come; nil where no answer in parts has begun, or it is of no use.
        var left: Int?
        /// What broke the answer off.
        var error: TandemError?
        /// Who waits for the next part.
        var waiter: Reply<Void>?

        /// Takes out who waits.
        mutating func takeWaiter() -> Reply<Void>? {
            defer { waiter = nil }
            return waiter
        }
    }

    private let guarded = Locked(Guarded())

    /// What there is to take.
    enum Next {
        case part(StoredObjects)
        case end
        case wait(Reply<Void>)
    }

    // MARK: Who reads the socket

    /// Notes that so many objects will come.
    func begin(count: UInt64) { guarded.withLock { $0.left = Int(clamping: count) } }

    /// Adds a part; false if nobody wants it.
    ///
    /// Throws `storage` for more or fewer objects than the answer has.
    func add(_ part: FetchedPart) throws(TandemError) -> Bool {
        let (waiter, isWanted) = try guarded.withLock {
            guarded throws(TandemError) -> (Reply<Void>?, Bool) in
            guard let left = guarded.left else { return (nil, false) }
            let rest = left - part.objects.count
            guard part.objects.count > 0, rest >= 0, part.hasMore == (rest > 0) else {
                throw TandemError(.storage, "the daemon's answer has other objects than it says")
            }
            guarded.parts.append(part.objects)
            guarded.left = rest
            return (guarded.takeWaiter(), true)
        }
        waiter?.settle(.success(()))
        return isWanted
    }

    /// Notes that nothing more will come.
    func breakOff(_ error: TandemError) {
        let waiter = guarded.withLock { guarded -> Reply<Void>? in
            guard let left = guarded.left, left > 0 else { return nil }
            guarded.error = error
            return guarded.takeWaiter()
        }
        waiter?.settle(.failure(error))
    }

    // MARK: Who asked

    /// Takes no part of the answer that has begun, since it is of no use.
    func giveUp() { guarded.withLock { ($0.left, $0.parts) = (nil, []) } }

    /// The next part; throws what broke the answer off.
    func next() throws(TandemError) -> Next {
        try guarded.withLock { guarded throws(TandemError) in
            if let error = guarded.error { throw error }
            if !guarded.parts.isEmpty { return .part(guarded.parts.removeFirst()) }
            guard let left = guarded.left, left > 0 else { return .end }
            let waiter = Reply<Void>()
            guarded.waiter = waiter
            return .wait(waiter)
        }
    }
}
