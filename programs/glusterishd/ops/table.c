/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands, and what they need of other nodes.
 */
#include "programs/glusterishd/ops/op.h"

const struct gd_command gd_commands[] = {
    {"peer probe", 1, GD_CMD_CHANGES | GD_CMD_STORES | GD_CMD_QUICK, gd_op_probe, NULL},
    {"pool join", 1, GD_CMD_CHANGES, gd_op_join, NULL},
    {"pool tls", 1, GD_CMD_CHANGES, gd_op_tls, NULL},
    {"pool tls status", 1, 0, gd_op_tls, NULL},
    {"pool token", 1, GD_CMD_CHANGES, gd_op_token, NULL},
    {"peer detach", 2, GD_CMD_CHANGES | GD_CMD_STORES | GD_CMD_QUICK, gd_op_detach, NULL},
    {"peer status", 3, GD_CMD_REMOTE, gd_op_peers, NULL},
    {"pool list", 3, GD_CMD_REMOTE, gd_op_peers, NULL},
    {"volume create", 4, GD_CMD_CHANGES | GD_CMD_STORES | GD_CMD_QUICK, gd_op_create, NULL},
    {"volume info", 5, GD_CMD_REMOTE, gd_op_info, NULL},
    {"volume delete", 7, GD_CMD_VOLUME | GD_CMD_CHANGES | GD_CMD_STORES | GD_CMD_QUICK, gd_op_delete, NULL},
    {"volume start", 8, GD_CMD_VOLUME | GD_CMD_CHANGES | GD_CMD_STORES, gd_op_start, gd_start_stores},
    {"volume stop", 9, GD_CMD_VOLUME | GD_CMD_CHANGES | GD_CMD_STORES, gd_op_stop, NULL},
    {"volume rebalance", 11, GD_CMD_VOLUME | GD_CMD_CHANGES | GD_CMD_STORES, gd_op_rebalance, NULL},
    {"volume rebalance status", 11, GD_CMD_VOLUME, gd_op_rebalance, NULL},
    {"volume set", 12, GD_CMD_CHANGES | GD_CMD_STORES | GD_CMD_QUICK, gd_op_set, NULL},
    {"volume set help", 12, 0, gd_op_set_help, NULL},
    {"volume add-brick", 13, GD_CMD_CHANGES | GD_CMD_STORES, gd_op_add_brick, NULL},
    {"volume remove-brick", 14, GD_CMD_VOLUME | GD_CMD_CHANGES | GD_CMD_STORES, gd_op_remove_brick, NULL},
    {"volume replace-brick", 15, GD_CMD_VOLUME | GD_CMD_CHANGES | GD_CMD_STORES, gd_op_replace_brick, NULL},
    {"system getspec", 17, 0, gd_op_getspec, NULL},
    {"volume reset", 20, GD_CMD_CHANGES | GD_CMD_STORES | GD_CMD_QUICK, gd_op_reset, NULL},
    {"volume profile", 23, GD_CMD_VOLUME | GD_CMD_CHANGES | GD_CMD_STORES | GD_CMD_QUICK, gd_op_profile, NULL},
    {"volume profile info", 23, GD_CMD_VOLUME | GD_CMD_GATHERS, gd_op_profile_info, NULL},
    {"volume top", 23, GD_CMD_VOLUME | GD_CMD_GATHERS, gd_op_top, NULL},
    {"system getwd", 26, GD_CMD_REMOTE, gd_op_getwd, NULL},
    {"volume status", 27, GD_CMD_REMOTE | GD_CMD_GATHERS | GD_CMD_QUICK, gd_op_status, NULL},
    {"volume heal", 31, GD_CMD_VOLUME | GD_CMD_CHANGES | GD_CMD_STORES | GD_CMD_GATHERS, gd_op_heal, gd_heal_stores},
    {"volume heal status", 31, GD_CMD_VOLUME | GD_CMD_GATHERS, gd_op_heal_status, NULL},
    {"volume statedump", 32, GD_CMD_VOLUME | GD_CMD_CHANGES | GD_CMD_GATHERS, gd_op_statedump, NULL},
    {"volume list", 33, GD_CMD_REMOTE, gd_op_list, NULL},
    {"volume clear-locks", 34, GD_CMD_VOLUME | GD_CMD_CHANGES | GD_CMD_GATHERS | GD_CMD_ANYWHERE, gd_op_clear_locks, NULL},
    {"system uuid get", 36, GD_CMD_REMOTE, gd_op_uuid, NULL},
    {"volume get", 41, 0, gd_op_get, NULL},
    {"get-state", 46, 0, gd_op_get_state, NULL},
    {"volume reset-brick", 47, GD_CMD_VOLUME | GD_CMD_CHANGES | GD_CMD_STORES, gd_op_reset_brick, NULL},
    {"pool recover", 1, GD_CMD_CHANGES, gd_op_recover, NULL},
    {"peer update", 1, GD_CMD_CHANGES | GD_CMD_STORES | GD_CMD_QUICK, gd_op_peer_update, NULL},
    {"node store", 0, GD_CMD_NODE, gd_op_node_store, NULL},
    {"node leave", 0, GD_CMD_NODE, gd_op_node_leave, NULL},
    {"node admit", 0, GD_CMD_NODE, gd_op_node_admit, NULL},
    {"node prepare", 0, GD_CMD_NODE, gd_op_node_prepare, NULL},
    {"node unprepare", 0, GD_CMD_NODE, gd_op_node_unprepare, NULL},
    {"node stop-brick", 0, GD_CMD_NODE | GD_CMD_VOLUME, gd_op_node_stop_brick, NULL},
    {NULL, 0, 0, NULL, NULL},
};

const struct gd_across gd_across = {
    .lock = gd_lock_take, .release = gd_lock_release, .gather = gd_gather_nodes, .cancel = gd_asked_cancel};
