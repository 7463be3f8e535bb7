import FoundationEssentials
import Tandem

/// One transaction with what it takes to read it.
struct LogEntry {
    let transaction: Transaction
    /// The position as other processes take it; nil where log and epoch aren't known.
    let cursor: Position?
    /// The model at this place of the journal; without it values can't be read.
    let model: CompiledModel?

    /// The keys of a transaction in every format that names them; never renamed.
    static let fields = [
        "author", "changes", "context", "cursor", "gid", "model", "pid", "position", "saveId",
        "time", "uid", "unit",
    ]

    /// The entity of a change that can be read with the model.
    func entity(of change: Change) -> CompiledEntity? {
        guard let entity = model?.entity(tagged: change.object.tag), change.isValid(for: entity)
        else { return nil }
        return entity
    }

    /// An object's id, or its number alone where the model is not known.
    func id(_ object: ObjectReference) -> String {
        model?.id(of: object).description ?? "#\(object.number)"
    }

    /// A printable save id as it is, another one as base64.
    var saveID: String {
        let bytes = transaction.saveID
        if bytes.allSatisfy({ (0x20...0x7e).contains($0) }) {
            return String(decoding: bytes, as: UTF8.self)
        }
        return Data(bytes).base64EncodedString()
    }

    /// The hash of a model that was installed.
    var modelHash: String? {
        guard case .model = transaction.content else { return nil }
        return model?.hash.description ?? ""
    }

    /// In what a model that was installed differs from the one before.
    var differences: [ModelDifference] {
        guard case .model(let bytes) = transaction.content else { return [] }
        return (try? ModelInstallation(bytes))?.differences ?? []
    }
}

/// Positions as text; what log and epoch add to the number is the same for thousands of them.
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
