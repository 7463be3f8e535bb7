public import TandemModel

/// A read that is to be answered at the very position of the verdicts it comes with.
///
/// A context whose lists need verdicts merges up to the position of those; when others save all the while that is
/// always beyond the answer to a read sent before. Both in one request stand at one position.
public enum Alongside: WireCodable {
    /// A fetch.
    case fetch(Fetch)
    /// Objects and members by id.
    case read(Read)

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .fetch(let fetch):
            writer.uint8(0)
            fetch.encode(into: &writer)
        case .read(let read):
            writer.uint8(1)
            read.encode(into: &writer)
        }
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        switch try reader.uint8() {
        case 0: self = .fetch(try Fetch(from: &reader))
        case 1: self = .read(try Read(from: &reader))
        default: throw CodingError(expected: "a read beside verdicts", offset: start)
        }
    }
}

/// The answer to a read that came with a question for verdicts.
public enum AlongsideAnswer: WireCodable {
    /// What a fetch found.
    case fetched(Fetched)
    /// Objects and members.
    case objects(Objects)

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .fetched(let answer):
            writer.uint8(0)
            answer.encode(into: &writer)
        case .objects(let answer):
            writer.uint8(1)
            answer.encode(into: &writer)
        }
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        switch try reader.uint8() {
        case 0: self = .fetched(try Fetched(from: &reader))
        case 1: self = .objects(try Objects(from: &reader))
        default: throw CodingError(expected: "an answer beside verdicts", offset: start)
        }
    }
}
