import Tandem
import TandemIO

/// Standard output of the bridge: whole lines, from whichever thread.
final class BridgeOutput: Sendable {
    private let turn = Locked<Void>(())

    /// Writes one event; it is out on return.
    func write(_ members: [String: JSON]) { write(JSON.object(members).text) }

    /// Writes one answer to the request of an id; it is out on return.
    func write(_ members: [String: JSON], to id: RequestID) {
        let texts = members.mapValues(\.text).merging(["id": id.text]) { $1 }
        let body = texts.sorted { $0.key < $1.key }.map {
            "\(JSON.string($0.key).text):\($0.value)"
        }
        write("{\(body.joined(separator: ","))}")
    }

    private func write(_ text: String) {
        let line = text + "\n"
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
