import Tandem
import TandemIO

/// Writes whole lines to the bridge's standard output, from any thread.
final class BridgeOutput: Sendable {
    private let turn = Locked<Void>(())

    /// Writes one event; returns when the line has been written.
    func write(_ members: [String: JSON]) { write(JSON.object(members).text) }

    /// Writes the answer to a request; returns when the line has been written.
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
    /// Creates the JSON number of a position or count.
    init(number: UInt64) { self = .int(Int64(clamping: number)) }

    /// Creates the JSON string of an object's id.
    init(_ id: ObjectID) { self = .string(id.description) }

    /// Creates a JSON array of object ids.
    init(_ ids: [ObjectID]) { self = .array(ids.map { JSON($0) }) }
}
