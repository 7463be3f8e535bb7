/// Validation of values against a model's rules, in clients and in the daemon.
extension CompiledProperty {
    /// The message for a required relationship that is empty.
    package static let missingObjectMessage =
        "an object is required; set the relationship before saving"

    /// Returns the problem of an attribute's value and what is allowed; nil if the value is valid.
    ///
    /// The result is nil for relationships. The characters of a text are counted only as far as the
    /// limits require.
    /// - Parameters:
    ///   - value: A value of the attribute's type, or null.
    ///   - tooLong: Returns a message for a value that is longer than any client may save.
    ///   - content: Returns the content of a text outside the row; nil if it is unavailable, in
    ///     which case its length is not checked.
    /// - Returns: A sentence without the property's name.
    package func problem(
        with value: PropertyValue, tooLong: (PropertyValue) -> String? = { _ in nil },
        content: (BlobReference) throws -> [UInt8]?
    ) rethrows -> String? {
        if value.isNull { return allowsNull ? nil : "a value is required" }
        guard limitsValues, let attribute else { return nil }
        if let allowed = attribute.allowedValues, !allowed.contains(value) {
            return "\(value.excerpt()) is not allowed; the allowed values are " + Self.list(allowed)
        }
        if let problem = tooLong(value) { return problem }
        if let pattern, let text = try text(value, content) {
            switch pattern.matches(text) {
            case true?: break
            case false?: return "the text does not match the pattern \(pattern.text)"
            case nil: return "the text is too long to be matched with the pattern \(pattern.text)"
            }
        }
        guard attribute.minimum != nil || attribute.maximum != nil,
            let size = try attribute.size(value, content)
        else { return nil }
        if let minimum = attribute.minimum, size.isLess(than: minimum.measure) {
            return "\(value.measured) is below the minimum of \(minimum.text)"
        }
        if let maximum = attribute.maximum, maximum.measure.isLess(than: size) {
            return "\(value.measured) is above the maximum of \(maximum.text)"
        }
        return nil
    }

    /// Returns a list of the first values, each truncated, so that the message has a bounded
    /// length.
    private static func list(_ values: [PropertyValue]) -> String {
        let shown = values.prefix(10).map { $0.excerpt(50) }.joined(separator: ", ")
        return values.count > 10 ? "\(shown) and \(values.count - 10) more" : shown
    }

    private func text(
        _ value: PropertyValue, _ content: (BlobReference) throws -> [UInt8]?
    ) rethrows -> String? {
        switch value {
        case .string(let text), .url(let text): text
        case .longText(let text):
            try content(text.blob).map { String(decoding: $0, as: UTF8.self) }
        default: nil
        }
    }
}

extension CompiledRelationship {
    /// Returns the problem of a to-many relationship's number of members; nil if the number is
    /// valid.
    ///
    /// An optional relationship may be empty regardless of its minimum, as in Core Data.
    package func problem(withCount count: Int) -> String? {
        if count == 0 { return isOptional ? nil : CompiledProperty.missingObjectMessage }
        if let minimum = declaration.minimum, count < minimum {
            return "the number of members is \(count), below the minimum of \(minimum)"
        }
        if let maximum = declaration.maximum, count > maximum {
            return "the number of members is \(count), above the maximum of \(maximum)"
        }
        return nil
    }
}

extension PropertyValue {
    /// The quantity that `min` and `max` limit, for messages.
    fileprivate var measured: String {
        switch self {
        case .string, .url, .longText: "the number of characters"
        case .data, .blob: "the number of bytes"
        default: "the value"
        }
    }
}

extension Attribute {
    /// Returns the quantity that `min` and `max` limit: the number itself, the number of characters
    /// of a text, or the number of bytes of data.
    ///
    /// The result is nil if there is no limit, or if the content is unavailable.
    fileprivate func size(
        _ value: PropertyValue, _ content: (BlobReference) throws -> [UInt8]?
    ) rethrows -> Measure? {
        switch value {
        case .int(let number): return .int(number)
        case .double(let number), .date(let number): return .double(number)
        case .decimal(let number): return .decimal(number)
        case .string(let text), .url(let text): return count(text)
        case .longText(let reference):
            return try content(reference.blob).map { count(String(decoding: $0, as: UTF8.self)) }
        case .data(let bytes): return .int(Int64(bytes.count))
        case .blob(let blob): return .int(Int64(blob.length))
        default: return nil
        }
    }

    private func count(_ text: String) -> Measure {
        let most = max(minimum ?? 0, maximum ?? 0).measure
        var count: Int64 = 0
        for _ in text {
            count += 1
            if most.isLess(than: .int(count)) { break }
        }
        return .int(count)
    }
}
