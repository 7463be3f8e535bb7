import TandemIO
import TandemModel
import TandemWire

/// The parts of an answer as they come, for who works on the first while the rest is made.
///
/// Who asks brings one along; it is told of the answer's head as of any answer, and takes the parts from here. Whoever reads the socket puts
/// them in. One that nobody holds any more takes none, and an answer that comes whole leaves it as it was.
final class AnswerParts: Sendable {
    private enum State {
        /// No answer in parts has begun.
        case none
        /// So many objects are to come; these parts have come and were not taken.
        case under(way: [StoredObjects], left: Int)
        /// All parts came; these were not taken.
        case whole([StoredObjects])
        /// The answer broke off.
        case broken(TandemError)
    }

    private struct Guarded {
        var state = State.none
        /// Who waits for the next part.
        var waiter: Reply<Void>?
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
    func begin(count: UInt64) {
        guarded.withLock { $0.state = .under(way: [], left: Int(clamping: count)) }
    }

    /// Adds a part; false if nobody wants it.
    ///
    /// Throws `storage` for more or fewer objects than the answer has.
    func add(_ part: FetchedPart) throws(TandemError) -> Bool {
        let (waiter, isWanted) = try guarded.withLock {
            guarded throws(TandemError) -> (Reply<Void>?, Bool) in
            guard case .under(var parts, let left) = guarded.state else { return (nil, false) }
            let rest = left - part.objects.count
            guard part.objects.count > 0, rest >= 0, part.hasMore == (rest > 0) else {
                throw TandemError(.storage, "the daemon's answer has other objects than it says")
            }
            // The array is held once while it grows.
            guarded.state = .none
            parts.append(part.objects)
            guarded.state = part.hasMore ? .under(way: parts, left: rest) : .whole(parts)
            defer { guarded.waiter = nil }
            return (guarded.waiter, true)
        }
        waiter?.settle(.success(()))
        return isWanted
    }

    /// Notes that nothing more will come.
    func breakOff(_ error: TandemError) {
        let waiter = guarded.withLock { guarded -> Reply<Void>? in
            guard case .under = guarded.state else { return nil }
            guarded.state = .broken(error)
            defer { guarded.waiter = nil }
            return guarded.waiter
        }
        waiter?.settle(.failure(error))
    }

    // MARK: Who asked

    /// Takes no part of the answer that has begun, since it is of no use.
    func giveUp() { guarded.withLock { $0.state = .none } }

    /// The next part; throws what broke the answer off.
    func next() throws(TandemError) -> Next {
        try guarded.withLock { guarded throws(TandemError) in
            switch guarded.state {
            case .none: return .end
            case .broken(let error): throw error
            case .whole(let parts):
                guard let first = parts.first else { return .end }
                guarded.state = .whole(Array(parts.dropFirst()))
                return .part(first)
            case .under(let parts, let left):
                if let first = parts.first {
                    guarded.state = .under(way: Array(parts.dropFirst()), left: left)
                    return .part(first)
                }
                let waiter = Reply<Void>()
                guarded.waiter = waiter
                return .wait(waiter)
            }
        }
    }
}
