import Tandem
import TandemIO

/// Standard output of the bridge: whole lines, from whichever thread.
final class BridgeOutput: Sendable {
    private let turn = Locked<Void>(())

    /// Writes one answer or event; it is out on return.
    func write(_ members: [String: JSON]) {
        let line = JSON.object(members).text + "\n"
        turn.withLock { _ in StandardStream.output.write(line) }
    }
}

extension JSON {
    /// A position or count.
    init(number: UInt64) { self = .int(Int64(clamping: number)) }

    /// An object's id.
    init(_ id: ObjectID) { self = .string(id.description) }

    /// Several ids.
    init(_ ids: [ObjectID]) { self = .array(ids.map { JSON($0) }) }
}
