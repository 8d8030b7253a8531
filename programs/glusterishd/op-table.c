/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands.
 */
#include "programs/glusterishd/op.h"

const struct gd_command gd_commands[] = {
    {"peer probe", 1, GD_CMD_CHANGES, gd_op_probe},
    {"peer detach", 2, GD_CMD_CHANGES, gd_op_detach},
    {"peer status", 3, GD_CMD_REMOTE, gd_op_peers},
    {"pool list", 3, GD_CMD_REMOTE, gd_op_peers},
    {"volume create", 4, GD_CMD_CHANGES, gd_op_create},
    {"volume info", 5, GD_CMD_REMOTE, gd_op_info},
    {"volume delete", 7, GD_CMD_VOLUME | GD_CMD_CHANGES, gd_op_delete},
    {"volume start", 8, GD_CMD_VOLUME | GD_CMD_CHANGES, gd_op_start},
    {"volume stop", 9, GD_CMD_VOLUME | GD_CMD_CHANGES, gd_op_stop},
    {"volume rebalance", 11, GD_CMD_VOLUME | GD_CMD_CHANGES, gd_op_rebalance},
    {"volume rebalance status", 11, GD_CMD_VOLUME, gd_op_rebalance},
    {"volume set", 12, GD_CMD_CHANGES, gd_op_set},
    {"volume set help", 12, 0, gd_op_set_help},
    {"volume add-brick", 13, GD_CMD_CHANGES, gd_op_add_brick},
    {"volume remove-brick", 14, GD_CMD_VOLUME | GD_CMD_CHANGES, gd_op_remove_brick},
    {"volume replace-brick", 15, GD_CMD_VOLUME | GD_CMD_CHANGES, gd_op_replace_brick},
    {"system getspec", 17, 0, gd_op_getspec},
    {"volume reset", 20, GD_CMD_CHANGES, gd_op_reset},
    {"volume profile", 23, GD_CMD_VOLUME | GD_CMD_CHANGES, gd_op_profile},
    {"volume profile info", 23, GD_CMD_VOLUME, gd_op_profile_info},
    {"volume top", 23, GD_CMD_VOLUME, gd_op_top},
    {"system getwd", 26, GD_CMD_REMOTE, gd_op_getwd},
    {"volume status", 27, GD_CMD_REMOTE, gd_op_status},
    {"volume heal", 31, GD_CMD_VOLUME | GD_CMD_CHANGES, gd_op_heal},
    {"volume heal status", 31, GD_CMD_VOLUME, gd_op_heal_status},
    {"volume statedump", 32, GD_CMD_VOLUME | GD_CMD_CHANGES, gd_op_statedump},
    {"volume list", 33, GD_CMD_REMOTE, gd_op_list},
    {"volume clear-locks", 34, GD_CMD_VOLUME | GD_CMD_CHANGES, gd_op_clear_locks},
    {"system uuid get", 36, GD_CMD_REMOTE, gd_op_uuid},
    {"volume get", 41, 0, gd_op_get},
    {"get-state", 46, 0, gd_op_get_state},
    {"volume reset-brick", 47, GD_CMD_VOLUME | GD_CMD_CHANGES, gd_op_reset_brick},
    {NULL, 0, 0, NULL},
};
