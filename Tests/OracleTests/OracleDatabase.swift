import CSQLite
import Foundation
import Tandem

/// An in-memory SQLite database, for statements without results and for lists of numbers.
final class OracleDatabase {
    /// SQLite's error message, with the statement.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private var handle: OpaquePointer?

    init() throws {
        guard sqlite3_open(":memory:", &handle) == SQLITE_OK else {
            throw Failure(description: "SQLite cannot be opened")
        }
        // SQL has no natural order; a custom collation makes all parts of such a request
        // expressible.
        sqlite3_create_collation(handle, OracleNatural.collation, SQLITE_UTF8, nil) {
            let (a, b) = (OracleNatural($2, $1), OracleNatural($4, $3))
            return a < b ? -1 : b < a ? 1 : 0
        }
    }

    deinit { sqlite3_close(handle) }

    /// Executes a statement; returns the first column, which must have integers.
    @discardableResult
    func run(_ sql: String, _ values: [PropertyValue] = []) throws -> [UInt64] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
            throw failure(sql)
        }
        defer { sqlite3_finalize(statement) }
        for (index, value) in values.enumerated() { bind(value, Int32(index + 1), statement) }
        var found: [UInt64] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: found.append(UInt64(bitPattern: sqlite3_column_int64(statement, 0)))
            case SQLITE_DONE: return found
            default: throw failure(sql)
            }
        }
    }

    private func failure(_ sql: String) -> Failure {
        Failure(description: "\(String(cString: sqlite3_errmsg(handle))) in \(sql)")
    }

    /// The destructor -1 (`SQLITE_TRANSIENT`), which makes SQLite copy the bytes.
    private let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private func bind(
        _ bytes: UnsafeRawBufferPointer, _ index: Int32, _ statement: OpaquePointer?
    ) {
        guard let start = bytes.baseAddress, !bytes.isEmpty else {
            // A null pointer would bind NULL instead of an empty blob.
            sqlite3_bind_zeroblob(statement, index, 0)
            return
        }
        sqlite3_bind_blob(statement, index, start, Int32(bytes.count), copies)
    }

    private func bind(_ value: PropertyValue, _ index: Int32, _ statement: OpaquePointer?) {
        switch value {
        case .int(let number): sqlite3_bind_int64(statement, index, number)
        case .bool(let flag): sqlite3_bind_int(statement, index, flag ? 1 : 0)
        case .double(let number), .date(let number): sqlite3_bind_double(statement, index, number)
        case .reference(let object):
            sqlite3_bind_int64(statement, index, Int64(bitPattern: object.number))
        case .decimal(let number):
            sqlite3_bind_double(statement, index, Double(number.description) ?? 0)
        case .string(let text), .url(let text):
            sqlite3_bind_text(statement, index, text, Int32(text.utf8.count), copies)
        case .uuid(let id):
            withUnsafeBytes(of: id.uuid) { bind($0, index, statement) }
        case .data(let bytes): bytes.withUnsafeBytes { bind($0, index, statement) }
        default: sqlite3_bind_null(statement, index)
        }
    }
}
