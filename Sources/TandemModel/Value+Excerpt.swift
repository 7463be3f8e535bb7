extension Value {
    /// The value as JSON for a message to people: at most so many characters, and a sign where there is more.
    ///
    /// Cost: as much as is shown, however long the value is.
    package func excerpt(_ most: Int = 200) -> String {
        let text = prefix(most + 1).json.text.unicodeScalars
        guard let end = text.index(text.startIndex, offsetBy: most, limitedBy: text.endIndex),
            end < text.endIndex
        else { return String(text) }
        return String(text[..<end]) + "…"
    }

    private func prefix(_ most: Int) -> Value {
        switch self {
        case .string(let text): .string(String(text.unicodeScalars.prefix(most)))
        case .url(let text): .url(String(text.unicodeScalars.prefix(most)))
        case .data(let bytes): .data(Array(bytes.prefix(most)))
        default: self
        }
    }
}
