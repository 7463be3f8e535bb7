public import TandemModel

extension TandemError: WireCodable {
    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.string(code.rawValue)
        writer.string(message)
        writer.optional(offset) { $0.int64(Int64($1)) }
        writer.list(problems) { writer, problem in
            writer.string(problem.object.entity)
            writer.uint64(problem.object.number)
            writer.optional(problem.property) { $0.string($1) }
            writer.string(problem.message)
        }
        writer.list(conflicts) { writer, conflict in
            writer.reference(conflict.object)
            writer.uint64(conflict.baseVersion)
            writer.optional(conflict.theirs) { $0.row($1) }
            writer.uint64(conflict.theirsVersion)
        }
    }

    /// Reads the binary form; throws `CodingError` if it is invalid or the error code is unknown.
    package init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        guard let code = Code(rawValue: try reader.string()) else {
            throw CodingError(expected: "the code of an error", offset: start)
        }
        self.init(code, try reader.string())
        offset = try reader.optional { reader throws(CodingError) in
            Int(truncatingIfNeeded: try reader.int64())
        }
        problems = try reader.list(itemBytes: 11) { reader throws(CodingError) in
            try reader.problem()
        }
        conflicts = try reader.list(itemBytes: 27) { reader throws(CodingError) in
            try reader.conflict()
        }
    }
}

extension ByteReader {
    fileprivate mutating func problem() throws(CodingError) -> ValidationProblem {
        let entity = try string()
        let object = ObjectID(entity: entity, number: try uint64())
        let property = try optionalString()
        return ValidationProblem(object: object, property: property, message: try string())
    }

    fileprivate mutating func conflict() throws(CodingError) -> MergeConflict {
        let object = try reference()
        let baseVersion = try uint64()
        let theirs = try optionalRow()
        return MergeConflict(
            object: object, baseVersion: baseVersion, theirs: theirs,
            theirsVersion: try uint64())
    }
}
