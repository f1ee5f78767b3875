/// The members of the records of `config show`.
extension JSONRenderer {
    static func setting(_ row: SettingsSession.Row) -> JSONObject {
        ["name": .string(row.name), "value": .string(row.value), "source": .string(row.source)]
    }
}
