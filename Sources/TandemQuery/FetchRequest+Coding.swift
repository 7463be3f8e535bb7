public import TandemModel

extension FetchRequest {
    /// Appends the request's binary form.
    public func encode(into writer: inout ByteWriter) {}

    /// Reads the binary form. Throws ``CodingError``.
    public init(from reader: inout ByteReader) throws(CodingError) {
        throw CodingError(expected: "a request", offset: reader.offset)
    }
}
