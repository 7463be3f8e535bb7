import TandemIO
import TandemModel
import TandemQuery
import TandemWire

/// The parts of an answer as they come, for who works on the first while the rest is made.
///
/// Who asks brings one along; it is told of the answer's head as of any answer, and takes the parts from here: rows, or where the objects of
/// a list stand. Whoever reads the socket puts them in. One that nobody holds any more takes none, and an answer that comes whole leaves it
/// as it was.
final class AnswerParts: Sendable {
    private struct Guarded {
        /// What came and was not taken.
        var parts: [FetchedPart] = []
        /// How many objects are to come; nil where no answer in parts has begun, or it is of no use.
        var left: Int?
        /// What the parts' places may name; nil where rows come.
        var places: ListPlaces?
        /// What broke the answer off.
        var error: TandemError?
        /// Whether that was the loss of the connection.
        var isLost = false
        /// Who waits for the next part.
        var waiter: Reply<Void>?

        /// Takes out who waits.
        mutating func takeWaiter() -> Reply<Void>? {
            defer { waiter = nil }
            return waiter
        }

        /// Whether a part has what the answer is of, and nothing else.
        func fits(_ part: FetchedPart) -> Bool {
            guard let places else { return part.count == part.objects.count }
            guard let more = part.places else { return false }
            return part.count == more.count && places.accepts(more)
        }
    }

    private let guarded = Locked(Guarded())

    /// What there is to take.
    enum Next {
        case part(FetchedPart)
        case end
        case wait(Reply<Void>)
    }

    // MARK: Who reads the socket

    /// Notes that an answer begins.
    func begin(_ head: Fetched) {
        guarded.withLock {
            $0.left = Int(clamping: head.count) - head.bodyCount
            $0.places = head.places
        }
    }

    /// Adds a part; false if nobody wants it.
    ///
    /// Throws `storage` for one of something else, and for more or fewer objects than the answer has.
    func add(_ part: FetchedPart) throws(TandemError) -> Bool {
        let (waiter, isWanted) = try guarded.withLock {
            guarded throws(TandemError) -> (Reply<Void>?, Bool) in
            guard let left = guarded.left else { return (nil, false) }
            let rest = left - part.count
            guard part.count > 0, rest >= 0, part.hasMore == (rest > 0), guarded.fits(part) else {
                throw TandemError(.storage, "the daemon's answer has other objects than it says")
            }
            guarded.parts.append(part)
            guarded.left = rest
            return (guarded.takeWaiter(), true)
        }
        waiter?.settle(.success(()))
        return isWanted
    }

    /// Notes that nothing more will come; where the connection was lost, who takes the parts may ask again.
    func breakOff(_ error: TandemError, isLost: Bool = false) {
        let waiter = guarded.withLock { guarded -> Reply<Void>? in
            guard let left = guarded.left, left > 0 else { return nil }
            (guarded.error, guarded.isLost) = (error, isLost)
            return guarded.takeWaiter()
        }
        waiter?.settle(.failure(error))
    }

    // MARK: Who asked

    /// Takes no part of the answer that has begun, since it is of no use.
    func giveUp() { guarded.withLock { ($0.left, $0.parts) = (nil, []) } }

    /// Whether the connection was lost before the last part came.
    var isLost: Bool { guarded.withLock { $0.isLost } }

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
