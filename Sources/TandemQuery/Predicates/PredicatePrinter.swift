import FoundationEssentials
import TandemModel

extension PredicateTree {
    /// The text that parses to this predicate, without arguments.
    ///
    /// An `AND` or `OR` with one part is printed as that part, and one without parts as a constant.
    /// Values without a literal are printed as `CAST`: dates in seconds since 1970, objects as
    /// `CAST("Team/3", "Object")`.
    package var format: String {
        switch self {
        case .constant(let value): return value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .and(let parts): return PredicateTree.join(parts, " AND ", "TRUEPREDICATE")
        case .or(let parts): return PredicateTree.join(parts, " OR ", "FALSEPREDICATE")
        case .not(let part): return "NOT (\(part.format))"
        case .comparison(let comparison): return comparison.format
        }
    }

    private static func join(
        _ parts: [PredicateTree], _ separator: String, _ empty: String
    ) -> String {
        switch parts.count {
        case 0: empty
        case 1: parts[0].format
        default: parts.map(\.asPart).joined(separator: separator)
        }
    }

    private var asPart: String {
        switch self {
        case .and(let parts), .or(let parts): parts.isEmpty ? format : "(\(format))"
        default: format
        }
    }
}

extension Comparison {
    fileprivate var format: String {
        let word =
            switch quantifier {
            case .direct: ""
            case .any: "ANY "
            case .all: "ALL "
            case .none: "NONE "
            }
        var suffix = options.contains(.caseInsensitive) ? "c" : ""
        if options.contains(.diacriticInsensitive) { suffix += "d" }
        if !suffix.isEmpty { suffix = "[\(suffix)]" }
        return "\(word)\(left.format) \(op.rawValue)\(suffix) \(right.format)"
    }
}

extension QueryExpression {
    /// The text that parses to this expression.
    package var format: String {
        switch self {
        case .constant(let value): value.literal
        case .object(let id): "CAST(\(id.description.quoted), \"Object\")"
        case .list(let elements): "{\(elements.map(\.format).joined(separator: ", "))}"
        case .keyPath(let names): names.keyPath
        case .selfObject: "SELF"
        case .variable(let name, let path): (["$\(name)"] + path).joined(separator: ".")
        case .aggregate(let aggregate, let collection, let path):
            ((collection == .keyPath([]) ? [] : [collection.format])
                + ["@\(aggregate.rawValue)"] + path).joined(separator: ".")
        case .subquery(let collection, let variable, let predicate):
            "SUBQUERY(\(collection.format), $\(variable), \(predicate.format))"
        case .arithmetic(let op, let left, let right):
            "\(left.operand) \(op.rawValue) \(right.operand)"
        }
    }

    private var operand: String { if case .arithmetic = self { "(\(format))" } else { format } }
}

extension PropertyValue {
    fileprivate var literal: String {
        switch self {
        case .null: "NULL"
        case .bool(let value): value ? "TRUE" : "FALSE"
        case .int(let value): String(value)
        case .double(let value):
            value.isFinite ? "\(value)" : "CAST(\"\(value)\", \"Double\")"
        case .decimal(let value): "CAST(\"\(value)\", \"NSDecimalNumber\")"
        case .string(let value): value.quoted
        case .date(let value): "CAST(\(PropertyValue.double(value).literal), \"NSDate\")"
        case .data(let value): "CAST(\"\(Data(value).base64EncodedString())\", \"NSData\")"
        case .blob(let value):
            "CAST(\"\(Data(value.bytes).base64EncodedString())\", \"Blob\")"
        case .longText(let value):
            "CAST(\"\(Data(value.bytes).base64EncodedString())\", \"LongText\")"
        case .uuid(let value): "CAST(\"\(value.uuidString)\", \"NSUUID\")"
        case .url(let value): "CAST(\(value.quoted), \"NSURL\")"
        case .reference(let value): "CAST(\"\(value.tag)/\(value.number)\", \"Reference\")"
        }
    }
}

extension [String] {
    fileprivate var keyPath: String {
        let needsSign = first.map { PredicateWords.reserved.contains($0.uppercased()) } ?? false
        return (needsSign ? "#" : "") + joined(separator: ".")
    }
}

extension String {
    fileprivate var quoted: String {
        var result = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"", "\\": result.unicodeScalars.append(contentsOf: ["\\", scalar])
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
