import FoundationEssentials
import Tandem

/// A transaction with the data needed to print it.
struct LogEntry {
    let transaction: Transaction
    /// The position with log and epoch; nil if they are unknown.
    let cursor: Position?
    /// The model in force at the transaction's position; values can't be read without it.
    let model: CompiledModel?

    /// The names of a transaction's keys in all formats; never renamed.
    static let fields = [
        "author", "changes", "context", "cursor", "gid", "model", "pid", "position", "saveId",
        "time", "uid", "unit",
    ]

    /// Returns the entity of a change, or nil if the change can't be read with the model.
    func entity(of change: Change) -> CompiledEntity? {
        guard let entity = model?.entity(tagged: change.object.tag), change.isValid(for: entity)
        else { return nil }
        return entity
    }

    /// Returns an object's id, or only its number if the model is unknown.
    func id(_ object: ObjectReference) -> String {
        model?.id(of: object).description ?? "#\(object.number)"
    }

    /// The save id as text if it is printable, otherwise as base64.
    var saveID: String {
        let bytes = transaction.saveID
        if bytes.allSatisfy({ (0x20...0x7e).contains($0) }) {
            return String(decoding: bytes, as: UTF8.self)
        }
        return Data(bytes).base64EncodedString()
    }

    /// The hash of the installed model; nil if the transaction is not a model change.
    var modelHash: String? {
        guard case .model = transaction.content else { return nil }
        return model?.hash.description ?? ""
    }

    /// The differences between an installed model and its predecessor.
    var differences: [ModelDifference] {
        guard case .model(let bytes) = transaction.content else { return [] }
        return (try? ModelInstallation(bytes))?.differences ?? []
    }
}

/// Writes positions as text; caches the suffix, because log and epoch rarely change.
struct CursorText {
    private var known: (position: Position, suffix: String)?

    /// Appends a position in quotes.
    mutating func write(_ position: Position, into bytes: inout [UInt8]) {
        bytes.put("\"")
        bytes.put(number: position.number)
        bytes.put(suffix(position), "\"")
    }

    private mutating func suffix(_ position: Position) -> String {
        if let known, known.position.isComparable(with: position) { return known.suffix }
        let suffix = String(position.description.drop { $0 != "@" })
        known = (position, suffix)
        return suffix
    }
}
