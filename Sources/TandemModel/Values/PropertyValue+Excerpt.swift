extension PropertyValue {
    /// Returns the value as JSON for a message, truncated to `most` characters and an ellipsis.
    ///
    /// Cost: proportional to the result, however long the value is.
    package func excerpt(_ most: Int = 200) -> String {
        let text = prefix(most + 1).json.text.unicodeScalars
        guard let end = text.index(text.startIndex, offsetBy: most, limitedBy: text.endIndex),
            end < text.endIndex
        else { return String(text) }
        return String(text[..<end]) + "…"
    }

    private func prefix(_ most: Int) -> PropertyValue {
        switch self {
        case .string(let text): .string(String(text.unicodeScalars.prefix(most)))
        case .url(let text): .url(String(text.unicodeScalars.prefix(most)))
        case .data(let bytes): .data(Array(bytes.prefix(most)))
        default: self
        }
    }
}
