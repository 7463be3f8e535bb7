package import TandemModel

/// A read that is sent with a request for verdicts and answered at the same position.
///
/// A context whose lists need verdicts merges up to the position of the verdicts. While other
/// clients save, that position is always later than the position of a separate read sent earlier.
/// In one request, both are answered at the same position.
package enum PiggybackedRead: WireCodable {
    /// A fetch.
    case fetch(Fetch)
    /// Objects and members by id.
    case read(Read)

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
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
    package init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        switch try reader.uint8() {
        case 0: self = .fetch(try Fetch(from: &reader))
        case 1: self = .read(try Read(from: &reader))
        default: throw CodingError(expected: "a piggybacked read", offset: start)
        }
    }
}

/// The answer to a piggybacked read.
package enum PiggybackedAnswer: WireCodable {
    /// The answer to a fetch.
    case fetched(FetchAnswer)
    /// Objects and members.
    case objects(ReadAnswer)

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
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
    package init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        switch try reader.uint8() {
        case 0: self = .fetched(try FetchAnswer(from: &reader))
        case 1: self = .objects(try ReadAnswer(from: &reader))
        default: throw CodingError(expected: "the answer to a piggybacked read", offset: start)
        }
    }
}
